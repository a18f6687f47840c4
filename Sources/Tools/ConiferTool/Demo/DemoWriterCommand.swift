import ArgumentParser
import ConiferKeyValue
import ConiferStorage
import ConiferTree

/// Commits without end and reports each acknowledged commit on standard output, until it is killed.
///
/// Commit number n queues the write of `/live/n` and puts the same value into the cache, so that
/// queue and cache must agree afterwards. A line is `n` and the write's number.
struct DemoWriterCommand: ToolCommand {
  static let configuration = CommandConfiguration(
    commandName: "demo-writer", abstract: "The process that the demo kills.", shouldDisplay: false)

  /// Where the commits go.
  static let place = Path([Key("live")])
  static let identity = "demo"
  /// The number of writes after which the process ends if nobody kills it.
  private static let maxWrites = 1_000_000

  @OptionGroup var store: StoreOptions

  func run(_ console: Console) async throws {
    try await store.editing(console) { opened in
      let lane = Lane(tree: opened.tree, identity: Self.identity)
      for number in 1...Self.maxWrites {
        let path = Self.place.appending(Key(number))
        let node = Self.node(number)
        let receipt = try await opened.commit(
          [
            .enqueue(lane, .set(path, node, time: Platform.now())),
            .overwrite(opened.tree, path, node),
          ], .power)
        try console.print("\(number) \(receipt.writes.first?.rawValue ?? 0)")
      }
    }
  }

  /// The edits of commit number n.
  static func node(_ number: Int) -> Node {
    [
      "n": Node(.integer(Int64(number))),
      "text": Node(.string("commit \(number) of a loop that will not end well")),
    ]
  }
}
