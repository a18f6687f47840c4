import ArgumentParser
import ConiferDocument
import ConiferKeyValue
import ConiferStorage
import ConiferTree

/// One write of a queue.
struct WriteOptions: ParsableArguments {
  @Argument(help: "The write's number, as list shows it.")
  var id: UInt64
  @Option(help: "The identity whose queue it is; by default the queue of nobody.")
  var identity = ""

  func lane(_ tree: TreeID) -> Lane { Lane(tree: tree, identity: identity) }

  /// The write, waiting or rejected.
  func find(_ view: any StorageView, _ tree: TreeID) throws -> QueueEntry {
    if let write = try view.entry(lane(tree), WriteID(rawValue: id)) { return write }
    if let finished = try view.finishedWrite(lane(tree), WriteID(rawValue: id)) {
      throw Failure.missing("no-write", "Write \(id) is finished: \(finished.outcome.words).")
    }
    throw Failure.missing(
      "no-write", "There is no write \(id) in this queue; conifer queue list shows what there is.")
  }
}

extension WriteOutcome {
  fileprivate var words: String {
    switch self {
    case .acknowledged: "acknowledged"
    case .discarded: "discarded"
    case .superseded(let by): "superseded by \(by.rawValue)"
    }
  }
}

/// Shows one write whole.
struct QueueShowCommand: ToolCommand {
  static let configuration = CommandConfiguration(
    commandName: "show", abstract: "Show one write with its data.")

  @OptionGroup var write: WriteOptions
  @OptionGroup var store: StoreOptions

  func run(_ console: Console) async throws {
    try await store.reading(console, .any) { opened in
      let write = try opened.backend.inspect { try self.write.find($0, opened.tree) }
      var members = write.summary
      if let content = WriteContent(write.payload) {
        members += Self.members(of: content)
      } else if let batch = MutationBatch(write.payload) {
        members += batch.members
      } else {
        members.append(
          ("touches", .list(write.payload.touches.map { .string($0.description) })))
        members.append(("bytes", .integer(write.payload.bytes.count)))
      }
      var writer = JSONWriter(pretty: !store.json)
      Report.object(members).write(to: &writer)
      try console.write(writer.bytes + [UInt8(ascii: "\n")])
    }
  }

  private static func members(of content: WriteContent) -> [(String, Report)] {
    let changes = content.changes.map {
      Report.object([("path", .string($0.path.description)), ("value", .node($0.node))])
    }
    let conditions = content.preconditions.map {
      Report.object([("path", .string($0.path.description)), ("hash", .string($0.hash))])
    }
    return [("changes", .list(changes))]
      + (conditions.isEmpty ? [] : [("preconditions", .list(conditions))])
  }
}

/// Queues a rejected write, or one of unknown outcome, again.
struct QueueRetryCommand: ToolCommand {
  static let configuration = CommandConfiguration(
    commandName: "retry", abstract: "Queue a rejected write, or one of unknown outcome, again.")

  @OptionGroup var write: WriteOptions
  @OptionGroup var store: StoreOptions

  func run(_ console: Console) async throws {
    try await store.reading(console, .any) { opened in
      let write = try opened.backend.inspect { try self.write.find($0, opened.tree) }
      guard write.state != .queued else {
        throw Failure.usage("Write \(write.id.rawValue) waits already.")
      }
      try await opened.backend.commit([
        .setState(self.write.lane(opened.tree), write.id, .queued)
      ])
      try console.print(
        store.json
          ? Report.object([("ok", .bool(true))]).compact
          : "write \(write.id.rawValue) waits again")
    }
  }
}

/// Gives a write up.
struct QueueDiscardCommand: ToolCommand {
  static let configuration = CommandConfiguration(
    commandName: "discard", abstract: "Give a write up; it is never sent.")

  @OptionGroup var write: WriteOptions
  @OptionGroup var store: StoreOptions

  func run(_ console: Console) async throws {
    try await store.reading(console, .any) { opened in
      let write = try opened.backend.inspect { try self.write.find($0, opened.tree) }
      try await opened.backend.commit([
        .finish(self.write.lane(opened.tree), write.id, .discarded)
      ])
      try console.print(
        store.json
          ? Report.object([("ok", .bool(true))]).compact : "write \(write.id.rawValue) discarded")
    }
  }
}
