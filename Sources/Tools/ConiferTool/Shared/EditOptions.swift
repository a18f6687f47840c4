import ArgumentParser
import ConiferKeyValue
import ConiferStorage

/// The destination of an edit: the cache, as server data, or the outbound queue.
struct EditOptions: ParsableArguments {
  @Flag(help: "Queue a write for the server instead of editing the cache.")
  var enqueue = false

  @Option(help: "The identity whose queue it is; by default the queue of nobody. Needs --enqueue.")
  var identity: String?

  func validate() throws {
    guard identity == nil || enqueue else {
      throw ValidationError("--identity names a queue's owner: add --enqueue.")
    }
  }

  /// Commits an edit, or queues the same write, and tells the user.
  ///
  /// - Parameters:
  ///   - edit: what server data would do to the cache.
  ///   - content: the same as a write.
  ///   - words: what was done, for people, such as `set /a`.
  func perform(
    _ edit: (TreeID) -> StorageEdit, or content: WriteContent, _ words: String,
    _ options: StoreOptions, _ console: Console
  ) async throws {
    try await options.editing(console) { store in
      guard enqueue else {
        _ = try await store.backend.commit([edit(store.tree)])
        try console.print(options.json ? Report.object([("ok", .bool(true))]).compact : words)
        return
      }
      let lane = Lane(tree: store.tree, identity: identity ?? "")
      let receipt = try await store.backend.commit([.enqueue(lane, content)])
      try Self.tell(receipt, words, asJSON: options.json, console)
    }
  }

  /// Tells the number under which a write was queued.
  static func tell(
    _ receipt: CommitReceipt, _ words: String, asJSON: Bool, _ console: Console
  ) throws {
    guard let id = receipt.writes.first else {
      throw Failure("no-receipt", .internal, "The store gave the write no number.")
    }
    try console.print(
      asJSON
        ? Report.object([("ok", .bool(true)), ("write", .integer(Int(id.rawValue)))]).compact
        : "queued as write \(id.rawValue): \(words)")
  }
}
