import java.io.BufferedReader;
import java.io.InputStreamReader;
import org.codelibs.opensearch.runner.OpenSearchRunner;

/**
 * An OpenSearch cluster in one process: {@code Cluster <folder> <nodes> <first HTTP port> <cluster name>}. It prints
 * {@code ready} once every node has joined. Each line of its input is a command: {@code stop 1} closes the node with
 * this index, {@code start 1} starts it again with its files. It prints {@code done} after each. The process ends with
 * its input.
 */
public final class Cluster {
  public static void main(String[] arguments) throws Exception {
    int nodes = Integer.parseInt(arguments[1]);
    int firstPort = Integer.parseInt(arguments[2]);
    OpenSearchRunner runner = new OpenSearchRunner();
    runner.setMaxHttpPort(65_535);
    runner.onBuild((number, settings) -> {
      settings.put("cluster.routing.allocation.disk.threshold_enabled", false);
      settings.put("knn.algo_param.index_thread_qty", Runtime.getRuntime().availableProcessors());
    });
    runner.build(OpenSearchRunner.newConfigs()
        .basePath(arguments[0])
        .clusterName(arguments[3])
        .numOfNode(nodes)
        .baseHttpPort(firstPort - 1)
        .disableESLogger()
        .pluginTypes("org.opensearch.knn.plugin.KNNPlugin"));
    say("ready");
    BufferedReader input = new BufferedReader(new InputStreamReader(System.in));
    for (String line = input.readLine(); line != null; line = input.readLine()) {
      String[] words = line.trim().split(" ");
      int node = Integer.parseInt(words[1]);
      if (words[0].equals("stop")) runner.getNode(node).close();
      else runner.startNode(node);
      say("done");
    }
    Runtime.getRuntime().halt(0);
  }

  private static void say(String word) {
    System.out.println(word);
    System.out.flush();
  }
}
