//! Runs the examples: each compares what it simulates with theory.

#[path = "../examples/call_centre.rs"]
mod call_centre;
#[path = "../examples/fork_join.rs"]
mod fork_join;
#[path = "../examples/machine_repair.rs"]
mod machine_repair;
#[path = "../examples/mg1.rs"]
mod mg1;
#[path = "../examples/packet_switch.rs"]
mod packet_switch;
#[path = "../examples/pipeline.rs"]
mod pipeline;
#[path = "../examples/typed_retries.rs"]
mod typed_retries;

#[test]
fn a_call_centre_is_as_erlang_a_says() {
    call_centre::main();
}

#[test]
fn a_fork_join_is_as_flatto_and_hahn_say() {
    fork_join::main();
}

#[test]
fn machine_repair_is_as_its_birth_death_process_says() {
    machine_repair::main();
}

#[test]
fn one_server_waits_as_pollaczek_and_khinchine_say() {
    mg1::main();
}

#[test]
fn a_packet_switch_is_as_fast_as_karol_hluchyj_and_morgan_say() {
    packet_switch::main();
}

#[test]
fn a_pipeline_is_as_fast_as_hunt_says() {
    pipeline::main();
}

#[test]
fn retries_of_a_typed_network_take_as_long_as_jackson_says() {
    typed_retries::main();
}
