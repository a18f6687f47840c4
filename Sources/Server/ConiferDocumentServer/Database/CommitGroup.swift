import ConiferDocument
import ConiferWire

/// Commits that are stored together, as far as they were found possible.
struct CommitGroup: Sendable {
  private var staging: CommitStaging
  private(set) var head: DatabaseHead
  private(set) var writes: DeduplicationLog
  private(set) var changes: [DocumentChange] = []
  private var records: [UInt64: MapValue] = [:]
  /// The streams of writes that take part; those whose batches are refused leave.
  var streams: [StreamID: WritingStream.State]

  init(
    _ staging: CommitStaging, _ contents: DatabaseStore.Contents,
    _ streams: [StreamID: WritingStream.State]
  ) {
    self.staging = staging
    head = contents.head
    writes = contents.writes
    self.streams = streams
  }

  /// Stages writes upon those before them.
  ///
  /// - Throws: why they are refused.
  mutating func stage(
    _ mutations: [Mutation], now: Timestamp, by caller: Caller
  ) throws(StatusError) -> MadeCommit {
    let time = head.time.next(after: now)
    let staged = try staging.stage(mutations, at: time, by: caller)
    head.time = time
    for (before, after) in staged.changes {
      changes.append(DocumentChange(number: head.next, time: time, before: before, after: after))
      head.next += 1
    }
    return MadeCommit(result: staged.result, documents: staged.documents)
  }

  /// Has the store commit something, also when nothing was staged.
  mutating func touch(_ now: Timestamp) { head.time = head.time.next(after: now) }

  /// Checks that nothing of what a transaction read has changed, by the commits before it in the group either.
  ///
  /// - Parameter history: the changes before the group.
  /// - Throws: `aborted` when something has, or that is not known any more.
  func checkUnchanged(
    _ reads: TransactionReads, since history: ChangeHistory
  ) throws(StatusError) {
    for (path, version) in reads.documents {
      let document = staging.document(path)
      guard (document.fields == nil ? .zero : document.version) == version else {
        throw TransactionReads.conflict("The document \(path)")
      }
    }
    for (target, time) in reads.targets {
      guard let later = history.changes(after: time) else {
        throw StatusError(
          .aborted,
          "The transaction is older than what the server remembers of changes. Run it again.")
      }
      let isChanged = [later, changes[...]].joined().contains { change in
        target.matches(change.before) || target.matches(change.after)
      }
      if isChanged { throw TransactionReads.conflict("A document that a query gives") }
    }
  }

  /// Takes the token of a request: the client has the answers up to its number.
  ///
  /// - Returns: the name of the stream.
  mutating func acknowledge(_ bytes: [UInt8], of id: StreamID) throws(StatusError) -> UInt64 {
    guard case .greeted(let name, _, let start) = streams[id] else {
      throw StatusError(
        .failedPrecondition, "Writes were sent before the greeting was answered. Greet first.")
    }
    guard let token = WriteToken(bytes), token.stream == name else {
      throw StatusError(
        .invalidArgument, "The token of the writes is not this stream's. Send the newest one.")
    }
    let last = writes.streams[name]?.last ?? 0
    guard token.answered <= last else {
      throw StatusError(
        .invalidArgument,
        "The token of the writes is of an answer that was not given. Send the newest one.")
    }
    writes.acknowledge(name, through: token.answered)
    guard last - max(token.answered, start) < DeduplicationLog.maxUnanswered else {
      throw StatusError(
        .resourceExhausted,
        "\(DeduplicationLog.maxUnanswered) batches were made whose answers the client has not said to have. "
          + "Read them, and send the newest token.")
    }
    return name
  }

  /// The batch that the client sends again and that was applied before; nil when there is none.
  mutating func takeDuplicate(_ key: DeduplicationLog.BatchKey, of id: StreamID) -> DeduplicationLog
    .Batch?
  {
    guard case .greeted(let name, var batches, let start) = streams[id],
      let place = batches.firstIndex(where: { $0.key.isSame(as: key) })
    else { return nil }
    let batch = batches[place]
    // Batches come again in their order, so the client no longer has those before it.
    batches.removeFirst(place + 1)
    streams[id] = .greeted(name, known: batches, start: start)
    return batch
  }

  /// Remembers a batch that came on a stream.
  ///
  /// - Returns: its number there.
  mutating func remember(_ name: UInt64, _ key: DeduplicationLog.BatchKey, _ result: CommitResult)
    -> Int64
  {
    guard let (number, record) = writes.remember(name, key, result) else { return 0 }
    records[name] = record
    return number
  }

  /// What the store is to change.
  ///
  /// - Parameter open: the names of the streams of writes that are open.
  mutating func edits(
    _ contents: DatabaseStore.Contents, open: Set<UInt64>
  ) -> DatabaseStore.Edits {
    writes.trim(but: open)
    let streams =
      records.map { (id: $0.key, record: MapValue?.some($0.value)) }
      + writes.forgotten.map { (id: $0, record: MapValue?.none) }
    writes.forgetStored()
    let kept = contents.history.room(for: changes)
    var head = head
    head.floor = kept.floor
    return DatabaseStore.Edits(
      head: head, documents: Set(changes.lazy.map(\.path)).map(staging.document),
      changes: changes.filter { $0.number >= kept.first },
      forgotten: contents.forgotten
        + Array(contents.history.first..<max(kept.first, contents.history.first)),
      streams: streams)
  }
}

extension Timestamp {
  /// The current time, or one microsecond after this time if that is later.
  func next(after now: Timestamp) -> Timestamp {
    let later =
      nanoseconds < 999_999_000
      ? Timestamp(unchecked: seconds, nanoseconds + 1000) : Timestamp(unchecked: seconds + 1, 0)
    return max(now.truncated, later)
  }
}
