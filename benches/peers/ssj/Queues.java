import java.util.ArrayDeque;
import umontreal.ssj.randvar.ExponentialGen;
import umontreal.ssj.rng.MRG32k3a;
import umontreal.ssj.simevents.Accumulate;
import umontreal.ssj.simevents.Event;
import umontreal.ssj.simevents.Sim;
import umontreal.ssj.stat.Tally;

/** The queues of this comparison with SSJ, by events, with the statistics that iosonar keeps for each station. */
public final class Queues {
    static final class Job {
        final double came;
        int parts;

        Job(double came, int parts) {
            this.came = came;
            this.parts = parts;
        }
    }

    static final class Server {
        final ExponentialGen service;
        final ArrayDeque<Job> queue = new ArrayDeque<>();
        final ArrayDeque<Double> entered = new ArrayDeque<>();
        final Accumulate number = new Accumulate("number");
        final Accumulate busy = new Accumulate("busy");
        final Tally wait = new Tally("wait");
        final Tally time = new Tally("time");

        Server(double mean) {
            service = new ExponentialGen(new MRG32k3a(), 1 / mean);
            number.init(0);
            busy.init(0);
        }

        void enter(Job job) {
            queue.add(job);
            entered.add(Sim.time());
            number.update(queue.size());
            if (queue.size() == 1) {
                start();
            }
        }

        void start() {
            wait.add(Sim.time() - entered.peek());
            busy.update(1);
            new Completion(this).schedule(service.nextDouble());
        }
    }

    static final class Completion extends Event {
        final Server server;

        Completion(Server server) {
            this.server = server;
        }

        @Override
        public void actions() {
            Job job = server.queue.poll();
            server.time.add(Sim.time() - server.entered.poll());
            server.number.update(server.queue.size());
            if (server.queue.isEmpty()) {
                server.busy.update(0);
            } else {
                server.start();
            }
            if (--job.parts == 0) {
                response.add(Sim.time() - job.came);
                if (++done == most) {
                    Sim.stop();
                }
            }
        }
    }

    static final class Arrival extends Event {
        @Override
        public void actions() {
            Job job = new Job(Sim.time(), servers.length);
            for (Server server : servers) {
                server.enter(job);
            }
            new Arrival().schedule(distance.nextDouble());
        }
    }

    static Server[] servers;
    static ExponentialGen distance;
    static Tally response;
    static long done;
    static long most;

    static void run(String name, int count, double meanService, long jobs) {
        Sim.init();
        servers = new Server[count];
        for (int i = 0; i < count; i++) {
            servers[i] = new Server(meanService);
        }
        distance = new ExponentialGen(new MRG32k3a(), 1.0);
        response = new Tally("response");
        done = 0;
        most = jobs;
        long begin = System.nanoTime();
        new Arrival().schedule(distance.nextDouble());
        Sim.start();
        double seconds = (System.nanoTime() - begin) / 1e9;
        System.out.printf("%s %.4f %.4f%n", name, jobs / seconds / 1e6, response.average());
    }

    public static void main(String[] arguments) {
        // The first runs warm the compiler.
        for (int round = 0; round < 3; round++) {
            run(round < 2 ? "warm-up" : "mm1", 1, 0.9, 2_000_000);
            run(round < 2 ? "warm-up" : "fork-join", 4, 0.5, 500_000);
        }
    }
}
