import com.github.luben.zstd.Zstd;
import com.github.luben.zstd.ZstdCompressCtx;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.lang.management.ManagementFactory;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/**
 * Measures the sizes of zstd frames with zstd-jni, one frame per payload. The argument is a file of payloads, each
 * after its length in four bytes, little-endian. Prints its versions first. For each line of standard input, it
 * compresses all payloads once and prints the processor time [s]. If the line contains a tab, it also writes the sizes
 * to the file named after the tab.
 */
public class ZstdSizes {
    private static final int LEVEL = 3;

    public static void main(String[] arguments) throws IOException {
        List<byte[]> payloads = payloads(Files.readAllBytes(Path.of(arguments[0])));
        int[] sizes = new int[payloads.size()];
        try (ZstdCompressCtx context = new ZstdCompressCtx()) {
            context.setLevel(LEVEL).setContentSize(true).setChecksum(false);
            System.out.println("Java " + System.getProperty("java.version"));
            BufferedReader asked = new BufferedReader(new InputStreamReader(System.in));
            for (String line = asked.readLine(); line != null; line = asked.readLine()) {
                long began = ManagementFactory.getThreadMXBean().getCurrentThreadCpuTime();
                measure(payloads, context, sizes);
                long ended = ManagementFactory.getThreadMXBean().getCurrentThreadCpuTime();
                if (line.contains("\t")) {
                    ByteBuffer written = ByteBuffer.allocate(4 * sizes.length).order(ByteOrder.LITTLE_ENDIAN);
                    written.asIntBuffer().put(sizes);
                    Files.write(Path.of(line.substring(line.indexOf('\t') + 1)), written.array());
                }
                System.out.println((ended - began) * 1e-9);
            }
        }
    }

    private static void measure(List<byte[]> payloads, ZstdCompressCtx context, int[] sizes) {
        byte[] frame = new byte[1 << 20];
        for (int place = 0; place < sizes.length; place++) {
            byte[] payload = payloads.get(place);
            int room = (int) Zstd.compressBound(payload.length);
            if (room > frame.length) {
                frame = new byte[room];
            }
            sizes[place] = context.compressByteArray(frame, 0, frame.length, payload, 0, payload.length);
        }
    }

    private static List<byte[]> payloads(byte[] framed) {
        ByteBuffer left = ByteBuffer.wrap(framed).order(ByteOrder.LITTLE_ENDIAN);
        List<byte[]> payloads = new ArrayList<>();
        while (left.hasRemaining()) {
            byte[] payload = new byte[left.getInt()];
            left.get(payload);
            payloads.add(payload);
        }
        return payloads;
    }
}
