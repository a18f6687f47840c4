import ConiferStorage
import ConiferTree

/// Where the demos' stores go, and the data that they begin with.
enum DemoFiles {
  /// The URL of a store in a fresh temporary directory, of the default kind.
  static func temporaryStore() throws -> String {
    let kind = Tool.registry.kinds.first?.name ?? ""
    let directory = try Platform.temporaryDirectory(prefix: "conifer-demo")
    return "\(kind)://\(StoreAddress.escaped(directory))/store"
  }

  /// The facts: a named file, or the repository's, searched from the current directory and from the
  /// program's.
  static func facts(_ named: String?) throws -> Node { try Node(json: try json(named)) }

  /// The JSON of the facts.
  static func json(_ named: String?) throws -> [UInt8] {
    let home = "Examples/Data/dinosaurs.json"
    guard let path = named ?? ([home] + ChildProcess.neighbours(home)).first(where: Platform.exists)
    else {
      throw Failure.missing(
        "no-input", "\(home) is not here: run the demo in the repository, or name it with --data.")
    }
    var bytes: [UInt8] = []
    let descriptor = try Platform.openForReading(path)
    defer { Platform.closeFile(descriptor) }
    while try Platform.read(descriptor, atMost: 1 << 16, into: &bytes) {}
    return bytes
  }
}
