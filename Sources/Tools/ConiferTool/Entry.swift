/// Where the process begins and ends.
@main
enum Entry {
  static func main() async {
    let status = await Tool.run(Array(CommandLine.arguments.dropFirst()), Console.standard)
    Platform.exit(status.rawValue)
  }
}
