use super::*;

#[test]
fn short_forms_are_scenarios() {
    let raid = System::named("raid10:8xexos-x18+cache=1GiB+array.layout=left-symmetric");
    let raid = raid.unwrap();
    assert_eq!(raid.devices, Some(("seagate-exos-x18-18tb", 8)));
    assert!(raid.text.contains("level = \"raid10\"\ndisks = 8"));
    let set = [
        ("controller.cache", "1GiB"),
        ("array.layout", "left-symmetric"),
    ];
    assert_eq!(raid.set, set.map(|(k, v)| (k.to_owned(), v.to_owned())));
    let ssd = System::named("nvme-gen4-tlc").unwrap();
    assert_eq!(ssd.text, "[ssd]\nprofile = \"nvme-gen4-tlc\"\n");
    let disk = System::named("ibm-18es").unwrap();
    assert!(disk.text.ends_with(ONE_DISK));
}

#[test]
fn what_is_not_understood_is_named() {
    for (text, problem) in [
        (
            "raid10:exos-x18",
            "'exos-x18' does not begin with a number of devices, expected NxPROFILE",
        ),
        ("raid10:", "'' does not begin with a number of devices"),
        (":8xexos-x18", "the level before ':' is missing"),
        (
            "raid10:0xexos-x18",
            "the number of devices is 0, expected a whole number from 1 to 1024",
        ),
        (
            "raid5:99999999999xexos-x18",
            "the number of devices is 99999999999, expected",
        ),
        ("raid5:-6xexos-x18", "the number of devices is -6, expected"),
        ("raid5:6x", "the profile after '6x' is missing, expected"),
        ("raid10:8xnothing", "unknown profile 'nothing'; 'iosonar"),
        (
            "exos-x19",
            "unknown profile 'exos-x19': did you mean seagate-exos-x18-18tb?",
        ),
        (
            "intel-d8",
            "did you mean intel-d7-p5500-3840gb or intel-d5-p4320-7680gb?",
        ),
        (
            "exos",
            "'exos' is ambiguous: it matches seagate-exos-7e8-8tb, seagate-exos-x18-18tb;",
        ),
        ("profile:", "the profile after 'profile:' is missing"),
        ("calibrated:", "the file after 'calibrated:' is missing"),
        (
            "nvme-gen4-tlc+cache=",
            "'+cache=' has no value, expected +KEY=VALUE",
        ),
        ("raid5:6xexos-x18+", "'+' has no value, expected +KEY=VALUE"),
        ("raid5:6xexos-x18+cache+unit=64KiB", "'+cache' has no value"),
        (
            "nvme-gen4-tlc+load.speed=2",
            "the load is not part of the system: use --set load.speed=2",
        ),
        ("nvme-gen4-tlc+speed=3", "'+speed=': unknown key"),
        (
            "raid10:8xexos-x18+array.disks=4",
            "changes what the part before '+' already sets",
        ),
        ("", "the name is empty"),
        ("absent.toml", "absent.toml: cannot read"),
        ("calibrated:absent.toml", "absent.toml: cannot read"),
    ] {
        let error = System::named(text).unwrap_err().to_string();
        assert!(error.contains(problem), "{text}: {error}");
    }
}

#[test]
fn a_plus_of_a_file_name_is_no_change() {
    let parts = |text| parts(text, Path::new(""));
    assert_eq!(parts("a+b.toml"), ("a+b.toml", vec![]));
    assert_eq!(
        parts("a+b.toml+cache=1+x.y=2"),
        ("a+b.toml", vec!["cache=1", "x.y=2"])
    );
}

#[test]
fn sizes_without_a_unit_are_texts() {
    let set = |text| System::named(text).unwrap().set[0].1.clone();
    assert_eq!(set("ibm-18es+cache=0"), "\"0\"");
    assert_eq!(set("ibm-18es+cache=1MiB"), "1MiB");
    assert_eq!(set("ibm-18es+disk.queue_depth=4"), "4");
}

#[test]
fn names_keep_their_meaning_in_other_folders() {
    let absolute = |name: &str| {
        let name = SystemName {
            name: name.into(),
            folder: "/f".into(),
        };
        name.absolute().display().to_string()
    };
    assert_eq!(absolute("s.toml"), "/f/s.toml");
    assert_eq!(absolute("s.toml+cache=1GiB"), "/f/s.toml+cache=1GiB");
    assert_eq!(absolute("calibrated:m.toml"), "calibrated:/f/m.toml");
    assert_eq!(absolute("raid5:6xexos-x18"), "raid5:6xexos-x18");
}
