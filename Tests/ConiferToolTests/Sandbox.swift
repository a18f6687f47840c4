import ConiferKeyValue
import ConiferStorage
import ConiferTree
import Synchronization
import TestSupport
import Testing

@testable import ConiferTool

/// A directory that goes with its owner, and the tool run in it.
final class Sandbox {
  let directory: String

  init() throws { directory = try Platform.temporaryDirectory(prefix: "conifer-tool-tests") }

  deinit { Directory.remove(directory) }

  /// What one run of the tool said.
  struct Output {
    var status: ToolStatus
    var text: String
    var notes: String
    /// The output without the line feed at its end.
    var line: String { text.hasSuffix("\n") ? String(text.dropLast()) : text }
  }

  /// The URL of a store in the sandbox.
  func url(_ backend: String, _ name: String = "store") -> String {
    backend == "memory" ? "memory://" : "\(backend)://\(path(name))"
  }

  func path(_ name: String) -> String { "\(directory)/\(name)" }

  /// Writes a file and returns its path.
  func file(_ name: String, _ bytes: [UInt8]) throws -> String {
    let descriptor = try Platform.openForWriting(path(name))
    defer { Platform.closeFile(descriptor) }
    try Platform.write(bytes, to: descriptor)
    return path(name)
  }

  func file(_ name: String, _ text: String) throws -> String { try file(name, Array(text.utf8)) }

  /// Runs the tool in this process.
  func run(_ arguments: String..., store: String? = nil) async -> Output {
    await run(arguments, store: store)
  }

  /// Runs the tool in this process; `store` is what CONIFER_STORE says.
  func run(_ arguments: [String], store: String?) async -> Output {
    let out = Mutex<[UInt8]>([])
    let notes = Mutex("")
    let console = Console(
      write: { (bytes: [UInt8]) throws in out.withLock { $0 += bytes } },
      note: { (line: String) in notes.withLock { $0 += line + "\n" } },
      environment: { (name: String) in name == "CONIFER_STORE" ? store : nil })
    let status = await Tool.run(arguments, console)
    return Output(
      status: status, text: String(decoding: out.withLock { $0 }, as: UTF8.self),
      notes: notes.withLock { $0 })
  }

  /// Opens a store of a backend with the tree "main" for the length of a closure.
  func opened<R>(
    _ backend: String, _ body: (TreeStore) async throws -> R
  ) async throws -> R {
    let url = url(backend)
    let configuration = try Tool.registry.configuration(
      url, defaults: StorageOptions(budget: nil))
    return try await StoreOptions.opened(configuration) { backend in
      let tree = try await backend.tree(named: "main")
      return try await body(TreeStore(backend: backend, tree: tree, name: "main", url: url))
    }
  }
}

/// The bytes of a file.
func contents(_ path: String) throws -> [UInt8] {
  let descriptor = try Platform.openForReading(path)
  defer { Platform.closeFile(descriptor) }
  var bytes: [UInt8] = []
  while try Platform.read(descriptor, atMost: 1 << 16, into: &bytes) {}
  return bytes
}

/// Where files of the repository and samples beside it are.
enum Repository {
  static let root = #filePath.split(separator: "/", omittingEmptySubsequences: false)
    .dropLast(3).joined(separator: "/")

  /// A sample file beside the repository.
  static func sample(_ name: String) -> String { "\(root)/../shared/data/\(name)" }

  /// Whether there are samples beside the repository.
  static let hasSamples = Platform.exists(sample("citm_catalog.json"))

  /// Every JSON file of the samples.
  static func samples() -> [String] {
    func files(_ directory: String) -> [String] {
      Scratch.files(directory).flatMap { $0.hasSuffix(".json") ? [$0] : files($0) }
    }
    return files("\(root)/../shared/data").sorted()
  }

  /// The built tool, beside the test program.
  static let tool: String? = ChildProcess.neighbours("conifer").first(where: Platform.exists)
}

/// The backends that the tool links.
let backends = Tool.registry.kinds.map(\.name)
/// Those that keep data.
let persistentBackends = backends.filter { $0 != "memory" }

/// Those whose files the tests know well enough to break them, and salvage to read them.
let knownBackends = ["sqlite", "lmdb", "log"]

/// Those, and the ones behind traits, for tests that know no file by its name.
#if RocksDB
  let salvagedBackends = knownBackends + ["rocksdb"]
#else
  let salvagedBackends = knownBackends
#endif
