import ConiferDocument
import ConiferKeyValue
import ConiferWire

/// The inputs of a moment, besides the stream that receives it.
struct MomentContext: Sendable {
  let database: DatabaseID
  let access: DocumentAccess
  let history: ChangeHistory
  /// The resume token of the moment, which the client sends to resume from it.
  let token: ResumeToken
}

/// Makes one moment of a stream: takes in what the client asked for, asks the store for what has to be read, and says what
/// is new of each target.
struct MomentBuilder {
  private let context: MomentContext
  private var stream: ListeningStream
  private var starts: [TargetID: ListeningStream.Start] = [:]
  private var said: [WatchChange] = []
  private var moment = MomentChanges()
  private var filters: [WatchChange] = []
  /// The documents that changed since the stream was last told something.
  private var netChanges: NetChanges
  /// What the store is asked for.
  private(set) var reads: [TargetID: DocumentQuery] = [:]

  /// Takes in what the client asked for, and what changed.
  init(_ stream: ListeningStream, _ context: MomentContext) throws(StatusError) {
    self.stream = stream
    self.context = context
    let firstUnsent = stream.firstUnsent ?? context.history.next
    let changes = context.history.changes(from: firstUnsent)
    netChanges = NetChanges(changes ?? [])
    if changes == nil { restartAll() }
    let inputs = stream.inputs
    self.stream.inputs = []
    for input in inputs { try take(input) }
    if stream.hasNewAccess { checkAccess() }
    self.stream.hasNewAccess = false
    takeChanges()
    for (id, start) in starts { plan(id, start) }
  }

  // MARK: What the client asked for

  private mutating func take(_ input: ListeningStream.Input) throws(StatusError) {
    switch input {
    case .refuse(let id, let error): remove(id, .rejected(error))
    case .remove(let id): remove(id, .removed)
    case .add(let watch):
      guard stream.targets[watch.id] == nil else {
        throw StatusError(
          .invalidArgument, "The target \(watch.id) is listened to already. Remove it first.")
      }
      do throws(StatusError) { try add(watch) } catch {
        said.append(.targets(.rejected(error), [watch.id]))
      }
    }
  }

  /// Ends a target; what is said to be removed is listened to no longer.
  private mutating func remove(_ id: TargetID, _ event: WatchChange.Event) {
    stream.end(id)
    starts[id] = nil
    said.append(.targets(event, [id]))
  }

  private mutating func add(_ watch: WatchTarget) throws(StatusError) {
    guard stream.targets.count < ListeningStream.maxTargets else {
      throw StatusError(
        .resourceExhausted,
        "A stream listens to \(ListeningStream.maxTargets) targets at most. Remove some.")
    }
    let target = try ListenedTarget(watch, in: context.database)
    if target.document == nil { try stream.caller.require(.list(target.target), context.access) }
    stream.begin(target)
    said.append(.targets(.added, [watch.id]))
    guard !watch.resumeToken.isEmpty || watch.version > .zero else {
      starts[watch.id] = .whole
      return
    }
    if let time = resumeTime(watch) {
      starts[watch.id] = .changes(after: time, expectedCount: watch.expectedCount)
    } else {
      restart(watch.id)
    }
  }

  /// From when a target goes on; nil when the server does not know what changed since.
  private func resumeTime(_ watch: WatchTarget) -> Timestamp? {
    var time = watch.version
    if !watch.resumeToken.isEmpty {
      guard let token = ResumeToken(watch.resumeToken), token.instance == context.token.instance
      else { return nil }
      time = token.time
    }
    return time >= context.history.floor && time <= context.token.time ? time : nil
  }

  private mutating func restart(_ id: TargetID) {
    said.append(.targets(.reset, [id]))
    starts[id] = .whole
  }

  /// All targets begin anew, because the history no longer has all changes since the stream's last
  /// moment.
  private mutating func restartAll() {
    for id in stream.targets.keys.sorted() { restart(id) }
  }

  private mutating func checkAccess() {
    for target in stream.targets.values.sorted(by: { $0.id < $1.id }) {
      if target.document != nil {
        reads[target.id] = target.query
      } else if !stream.caller.may(.list(target.target), context.access) {
        refuse(target.id)
      }
    }
  }

  /// Ends a target that may not go on.
  mutating func refuse(_ id: TargetID, _ error: StatusError = Self.forbidden) {
    said.append(.targets(.rejected(error), [id]))
    stream.end(id)
    starts[id] = nil
    reads[id] = nil
    moment.forget(id)
  }

  private static let forbidden = StatusError(
    .permissionDenied, "The server's rules do not allow this listen. Sign in as somebody who may.")

  // MARK: What changed

  private mutating func takeChanges() {
    for path in netChanges.order {
      guard let (before, after) = netChanges[path] else { continue }
      var affected: [TargetID] = []
      stream.index.forEach(affectedBy: path) { affected.append($0) }
      for id in affected where starts[id] == nil {
        guard let target = stream.targets[id] else { continue }
        if target.document != nil, !stream.caller.may(.get(path, after.fields), context.access) {
          refuse(id)
        } else if target.window != nil {
          if target.mayChangeWindow(before, after) { reads[id] = target.query }
        } else {
          take(before, after, target)
        }
      }
    }
  }

  private mutating func take(_ before: Document, _ after: Document, _ target: ListenedTarget) {
    if target.contains(after) {
      moment.match(after, target.id)
    } else if target.contains(before) {
      moment.leave(after.path, after, target.id)
    }
  }

  // MARK: What is read

  private mutating func plan(_ id: TargetID, _ start: ListeningStream.Start) {
    guard let target = stream.targets[id] else { return }
    guard case .changes(let time, let expectedCount) = start else {
      reads[id] = target.query
      return
    }
    if let limit = target.target.limit {
      // The limit plus the number of changed documents, so that the result includes the documents
      // of the earlier window.
      let more = since(time, target).all.values.count { target.contains($0.after) }
      let (most, overflows) = limit.addingReportingOverflow(more)
      reads[id] = (try? target.query.limited(to: overflows ? .max : most)) ?? target.query
    } else if expectedCount != nil || target.document != nil {
      reads[id] = target.query
    }
  }

  /// The changes of a target's documents after a moment that the history knows.
  private func since(_ time: Timestamp, _ target: ListenedTarget) -> NetChanges {
    NetChanges(
      (context.history.changes(after: time) ?? []).lazy.filter { target.concerns($0.path) })
  }

  /// Takes in what the store answered, and says what is new.
  ///
  /// - Parameter answers: what the queries of `reads` give.
  /// - Returns: what is said; nothing when nothing is new, and the moment need not be told.
  mutating func finish(
    _ answers: [TargetID: [Document]], isMomentWanted: Bool
  ) -> (ListeningStream, [WatchStreamEvent]) {
    for (id, documents) in answers.sorted(by: { $0.key < $1.key }) {
      guard let target = stream.targets[id], let path = target.document else { continue }
      let request = DocumentRequest.get(path, documents.first?.fields)
      if !stream.caller.may(request, context.access) { refuse(id) }
    }
    for (id, documents) in answers.sorted(by: { $0.key < $1.key }) where starts[id] == nil {
      if let target = stream.targets[id], target.window != nil { updateWindow(target, documents) }
    }
    let started = starts.keys.sorted()
    for id in started { begin(id, answers[id]) }
    let now = context.token.time
    let (caller, access) = (stream.caller, context.access)
    said += moment.said(at: now) { caller.may(.get($0.path, $0.fields), access) }
    said += filters
    let token = context.token.bytes
    if !started.isEmpty { said.append(.targets(.current, started, resumeToken: token)) }
    stream.caughtUp(with: context.history.next)
    // Who made a change that is left out, and waits to be told of it, learns that nothing will be said of it.
    guard !said.isEmpty || isMomentWanted || netChanges.leavesOut else { return (stream, []) }
    let end = WatchStreamEvent.said(.targets(.noChange, [], resumeToken: token), version: now)
    return (stream, said.map { .said($0, version: nil) } + [end])
  }

  /// Says how a limited target's documents differ from those it showed before.
  private mutating func updateWindow(_ target: ListenedTarget, _ documents: [Document]) {
    let before = target.window?.versions ?? [:]
    let window = ListenedTarget.Window(documents)
    stream.targets[target.id]?.window = window
    for document in documents where before[document.path] != document.version {
      moment.match(document, target.id)
    }
    for path in before.keys.sorted() where window.versions[path] == nil {
      moment.leave(path, netChanges[path]?.after, target.id)
    }
  }

  private mutating func begin(_ id: TargetID, _ answer: [Document]?) {
    guard let target = stream.targets[id], let start = starts[id] else { return }
    let answer = answer ?? []
    let shown = target.target.limit.map { Array(answer.prefix($0)) } ?? answer
    if target.target.limit != nil { stream.targets[id]?.window = ListenedTarget.Window(shown) }
    guard case .changes(let time, let expectedCount) = start else {
      for document in shown { moment.match(document, id) }
      return
    }
    let netChanges = since(time, target)
    let count =
      target.target.limit.map { resume(target, $0, answer, netChanges) }
      ?? resume(target, shown.count, netChanges)
    if let expectedCount, expectedCount != count {
      filters.append(.filter(id, count: shown.count, filter(of: shown)))
    }
  }

  /// Says what changed of a target without a limit.
  ///
  /// - Returns: how many documents there were before.
  private mutating func resume(
    _ target: ListenedTarget, _ count: Int, _ netChanges: NetChanges
  ) -> Int {
    var count = count
    for path in netChanges.order {
      guard let (before, after) = netChanges[path] else { continue }
      take(before, after, target)
      count += (target.contains(before) ? 1 : 0) - (target.contains(after) ? 1 : 0)
    }
    return count
  }

  /// Says what changed of a limited target.
  ///
  /// - Parameter answer: its documents, and as many more as changed.
  /// - Returns: how many documents it showed before.
  private mutating func resume(
    _ target: ListenedTarget, _ limit: Int, _ answer: [Document], _ netChanges: NetChanges
  ) -> Int {
    let unchanged = answer.filter { netChanges[$0.path] == nil }
    let then = target.target.evaluate(unchanged + netChanges.all.values.map(\.before))
    let (old, new) = (Set(then.map(\.path)), answer.prefix(limit))
    for document in new where !old.contains(document.path) || netChanges[document.path] != nil {
      moment.match(document, target.id)
    }
    let shown = Set(new.map(\.path))
    for document in then where !shown.contains(document.path) {
      moment.leave(document.path, netChanges[document.path]?.after, target.id)
    }
    return then.count
  }

  /// The names of documents as a filter in which about one of a hundred others seems to be.
  private func filter(of documents: [Document]) -> BloomFilter? {
    let names = documents.lazy.map { "\(DocumentName($0.path, in: context.database))" }
    return BloomFilter(of: names, bitCount: max(8, 10 * documents.count), hashCount: 7)
  }
}
