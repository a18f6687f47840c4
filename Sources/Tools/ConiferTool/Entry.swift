/// Where the process begins and ends.
@main
enum Entry {
  static func main() async {
    // The standard library's arguments have what is no UTF-8 replaced.
    let raw = CommandLine.unsafeArgv
    let arguments = (1..<max(1, Int(CommandLine.argc))).map { place in
      raw[place].flatMap { String(validatingCString: $0) }
    }
    let status = await Tool.run(arguments, Console.standard)
    Platform.exit(status.rawValue)
  }
}
