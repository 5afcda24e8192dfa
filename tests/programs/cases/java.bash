# Java: threads, a child process, a file, a shutdown hook, a status of its own.
prepare() {
    need java javac
    cat >Small.java <<'JAVA'
import java.nio.file.*;
import java.util.*;
import java.util.concurrent.*;
public class Small {
    public static void main(String[] args) throws Exception {
        Runtime.getRuntime().addShutdownHook(new Thread(() -> System.out.println("the hook runs")));
        ExecutorService pool = Executors.newFixedThreadPool(4);
        List<Future<Long>> parts = new ArrayList<>();
        for (int i = 0; i < 8; i++) {
            final int from = i;
            parts.add(pool.submit(() -> { long s = 0; for (int n = from; n < 800_000; n += 8) s += n; return s; }));
        }
        long sum = 0;
        for (Future<Long> part : parts) sum += part.get();
        pool.shutdown();
        System.out.println("sum " + sum);
        Process child = new ProcessBuilder("sh", "-c", "cat; exit 3").redirectErrorStream(true).start();
        child.getOutputStream().write("to the child\n".getBytes());
        child.getOutputStream().close();
        System.out.print(new String(child.getInputStream().readAllBytes()));
        System.out.println("child " + child.waitFor());
        Files.writeString(Path.of("file"), "text\n");
        System.err.println(Files.readAllLines(Path.of("file")));
        System.exit(6);
    }
}
JAVA
    javac Small.java
}

program() {
    java -Xmx128m -XX:-UsePerfData -cp "$MADE" Small
    echo "status $?"
}
