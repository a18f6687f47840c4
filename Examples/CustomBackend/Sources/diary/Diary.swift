import ConiferKeyValue
import ConiferStorage
import ConiferTree
import JournalStore

/// Keeps a diary in any of the backends that it links: `diary URL [line]`.
@main
struct Diary {
  static let registry = StorageRegistry([.journal, .memory])

  static func main() async {
    let arguments = CommandLine.arguments
    let url = arguments.count > 1 ? arguments[1] : "journal:///tmp/diary"
    do throws(StoreError) {
      try await keep(arguments.dropFirst(2).joined(separator: " "), in: url)
    } catch {
      print("diary: \(error)")
    }
  }

  /// Adds a line, unless it is empty, and prints them all.
  static func keep(_ line: String, in url: String) async throws(StoreError) {
    let backend = try registry.configuration(url).open()
    let tree = try await backend.tree(named: "diary")
    if !line.isEmpty {
      let count = try backend.read { (view) throws(StoreError) in
        try view.childKeys(tree, "/", after: nil, limit: .max).count
      }
      // One durable commit: the line, and the write that a server is to be told of.
      let path = Path("/\(count)")
      let node = Node(.string(line))
      _ = try await backend.commit(
        [.overwrite(tree, path, node), .enqueue(Lane(tree: tree), .set(path, node))], .power)
    }
    let (lines, waiting) = try backend.read { (view) throws(StoreError) in
      (try view.node(tree, "/"), try view.totals(Lane(tree: tree)).pending)
    }
    print(String(decoding: lines.json(.plain, pretty: true), as: UTF8.self))
    print("\(waiting) writes wait for a server")
    try await backend.close()
  }
}
