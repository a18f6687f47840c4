import ConiferDocument
import ConiferKeyValue
import ConiferWire
import Logging

// Streams: how they open and end, and what listeners are told.
extension DatabaseHost {
  // MARK: Listens

  func openWatch(
    _ id: StreamID, _ token: String?, _ deliver: @escaping @Sendable ([WatchStreamEvent]) -> Void
  ) async {
    do throws(StatusError) {
      let caller = try Caller(token, access, now: configuration.clock())
      _ = try await store()
      let next = contents?.history.next ?? 0
      listening[id] = ListeningStream(caller, told: next, deliver)
      deliver([.opened])
      scheduleExpiry(caller)
    } catch { deliver([.closed(error)]) }
  }

  func handle(_ id: StreamID, _ event: DatabaseRequest.Watch) {
    guard listening[id] != nil else { return }
    switch event {
    case .add(let target): ask(id, .add(target))
    case .refuse(let target, let error): ask(id, .refuse(target, error))
    case .remove(let target): ask(id, .remove(target))
    case .ready:
      listening[id]?.credit += 1
      listening[id]?.reads = []
    case .close: end(listening: id, nil)
    }
    if listening[id] != nil { due.insert(id) }
  }

  private func ask(_ id: StreamID, _ input: ListeningStream.Input) {
    guard let waiting = listening[id]?.inputs.count else { return }
    guard waiting < ListeningStream.maxInputs else {
      return end(
        listening: id,
        StatusError(
          .resourceExhausted,
          "\(waiting) targets were added and removed that wait for an answer. Read the stream."))
    }
    listening[id]?.inputs.append(input)
  }

  /// Marks the streams that a stored change may concern as due.
  func markDue(_ change: DocumentChange) {
    index.forEach(affectedBy: change.path) { id in
      listening[id]?.fallBehind(change.number)
      due.insert(id)
    }
  }

  /// Marks all streams as due after each quarter of the history's length. A stream without changes
  /// then gets a new token before the history drops its position.
  func markHeartbeatsDue() {
    let part = (contents?.history.next ?? 0) / heartbeatInterval
    guard part != lastHeartbeat else { return }
    lastHeartbeat = part
    due.formUnion(listening.keys)
  }

  /// The number of changes after which a stream that was sent nothing else gets a new token.
  private var heartbeatInterval: Int64 { max(1, Int64(configuration.history.changes / 4)) }

  /// Sends a moment to each stream that is due and can take one.
  func sendDueMoments() async {
    guard !due.isEmpty else { return }
    let streams = due.sorted()
    due = []
    for id in streams { await tell(id) }
  }

  private func tell(_ id: StreamID) async {
    guard let stream = listening[id], stream.credit > 0 else { return }
    if stream.caller.isExpired(at: configuration.clock()) {
      return end(listening: id, Caller.expired)
    }
    do throws(StatusError) {
      let store = try await store()
      // The contents may have been read again meanwhile.
      guard let stream = listening[id], let contents else { return }
      let isOld = contents.history.next - stream.told >= heartbeatInterval
      guard stream.isDue || isOld else { return }
      let events = try moment(
        of: id, stream, contents, store, isWanted: isOld && !stream.targets.isEmpty)
      if !events.isEmpty {
        listening[id]?.credit -= 1
        stream.deliver(events)
      }
    } catch {
      configuration.logger.debug("A stream of \(database) ends: \(error)")
      end(listening: id, error)
    }
  }

  private func moment(
    of id: StreamID, _ stream: ListeningStream, _ contents: DatabaseStore.Contents,
    _ store: DatabaseStore, isWanted: Bool
  ) throws(StatusError) -> [WatchStreamEvent] {
    let context = MomentContext(
      database: database, access: access, history: contents.history,
      token: ResumeToken(instance: contents.head.instance, time: contents.head.time))
    var maker = try MomentBuilder(stream, context)
    let read = try read(maker.reads, in: store)
    for id in read.refused { maker.refuse(id, ReadShare.exceeded) }
    var (told, events) = maker.finish(read.answers, isMomentWanted: isWanted)
    if !events.isEmpty { told.reads += read.shares }
    for (source, isAdded) in told.sources {
      if isAdded { index.insert(id, source) } else { index.remove(id, source) }
    }
    told.sources = []
    listening[id] = told
    return events
  }

  /// What was read for a moment.
  private struct MomentReads {
    var answers: [TargetID: [Document]] = [:]
    /// The memory of the answers.
    var shares: [ReadShare] = []
    /// The targets whose documents no stream has room for.
    var refused: [TargetID] = []
  }

  /// Reads what a moment needs of its targets. Each counts as a request does, until the client has taken the moment.
  ///
  /// - Throws: `resourceExhausted` while others take the memory: the client comes again later.
  private func read(
    _ queries: [TargetID: DocumentQuery], in store: DatabaseStore
  ) throws(StatusError) -> MomentReads {
    if queries.isEmpty { return MomentReads() }
    let most = configuration.bounds.read
    do throws(StoreError) {
      return try store.read { (view) throws(StoreError) in
        var read = MomentReads()
        for (id, query) in queries.sorted(by: { $0.key < $1.key }) {
          let share = ReadShare(of: readMemory)
          do throws(StoreError) {
            read.answers[id] = try view.documents(query, in: share)
            read.shares.append(share)
          } catch {
            // What only others keep from it is tried again; a moment alone may be what fills the memory.
            let own = read.shares.reduce(share.count) { $0 + $1.count }
            guard error.code == .tooLarge, share.isExceeded || own > most else { throw error }
            read.refused.append(id)
          }
        }
        return read
      }
    } catch {
      throw error.code == .tooLarge ? ReadShare.exceeded : StatusError(failing: error)
    }
  }

  func end(listening id: StreamID, _ error: StatusError?) {
    guard let stream = listening.removeValue(forKey: id) else { return }
    for target in stream.targets.values { index.remove(id, target.target.source) }
    due.remove(id)
    stream.deliver([.closed(error)])
  }

  // MARK: Writes

  func openWrites(
    _ id: StreamID, _ token: String?, _ deliver: @escaping @Sendable (WriteStreamEvent) -> Void
  ) async {
    do throws(StatusError) {
      let caller = try Caller(token, access, now: configuration.clock())
      _ = try await store()
      writing[id] = WritingStream(caller, deliver)
      deliver(.opened)
      scheduleExpiry(caller)
    } catch { deliver(.closed(error)) }
  }

  func greet(_ id: StreamID, _ bytes: [UInt8]) async {
    do throws(StatusError) {
      _ = try await store()
      guard let stream = writing[id] else { return }
      guard case .opened = stream.state else {
        throw StatusError(.invalidArgument, "The stream was greeted already. Send writes.")
      }
      let token = try resume(bytes, of: id, stream.caller)
      stream.deliver(.greeted(token: token.bytes))
    } catch {
      end(writing: id, error)
    }
  }

  /// The names of the streams of writes that are open.
  var openNames: Set<UInt64> { Set(writing.values.lazy.compactMap(\.name)) }

  func end(writing id: StreamID, _ error: StatusError?) {
    guard let stream = writing.removeValue(forKey: id) else { return }
    if let name = stream.name { contents?.writes.end(name) }
    stream.deliver(.closed(error))
  }

  /// The stream goes on where an earlier one was, as its token tells, or begins anew.
  private func resume(
    _ bytes: [UInt8], of id: StreamID, _ caller: Caller
  ) throws(StatusError) -> WriteToken {
    let user = caller.user?.id
    if !bytes.isEmpty {
      guard let token = WriteToken(bytes) else {
        throw StatusError(
          .invalidArgument, "The token of the greeting is none of this server's. Greet without one."
        )
      }
      // After the store has lost its newest commits it may have fewer answers than the client. Then
      // the stream begins anew.
      if let stream = contents?.writes.streams[token.stream], stream.user == user,
        token.answered <= stream.last
      {
        endOthers(of: token.stream)
        contents?.writes.acknowledge(token.stream, through: token.answered)
        let known = stream.batches.filter { $0.number > token.answered }
        writing[id]?.state = .greeted(token.stream, known: known, start: stream.last)
        return token
      }
    }
    let name = UInt64.random(in: 1 ... .max)
    contents?.writes.begin(name, user: user)
    writing[id]?.state = .greeted(name, known: [], start: 0)
    return WriteToken(stream: name, answered: 0)
  }

  /// Ends other streams with the same name, so that writes that are still on their way there are
  /// not made in addition to those that the client sends again.
  private func endOthers(of name: UInt64) {
    for (id, stream) in writing where stream.name == name {
      writing[id] = nil
      stream.deliver(
        .closed(StatusError(.aborted, "Another stream goes on with this one's writes.")))
    }
  }

  // MARK: Ends

  /// Ends the streams of some callers.
  func end(_ error: StatusError, where isTheirs: (Caller) -> Bool) {
    for (id, stream) in listening.sorted(by: { $0.key < $1.key }) where isTheirs(stream.caller) {
      end(listening: id, error)
    }
    for (id, stream) in writing.sorted(by: { $0.key < $1.key }) where isTheirs(stream.caller) {
      end(writing: id, error)
    }
  }

  /// Looks at the streams again when a caller's token expires.
  private func scheduleExpiry(_ caller: Caller) {
    guard let expires = caller.user?.expires else { return }
    if timer == nil || timer.map({ expires < $0.expires }) == true { checkExpiry(at: expires) }
  }

  /// Looks at the streams again when the next of their tokens expires.
  func scheduleNextExpiry() {
    timer?.task.cancel()
    timer = nil
    let callers = listening.values.map(\.caller) + writing.values.map(\.caller)
    if let next = callers.compactMap({ $0.user?.expires }).min() { checkExpiry(at: next) }
  }

  /// Waits until a token has expired. The clock may be set meanwhile, or run at another speed than
  /// the timer, so it is read again until the time has come.
  private func checkExpiry(at expires: Timestamp) {
    timer?.task.cancel()
    let left = Duration.microseconds(expires.microseconds - configuration.clock().microseconds)
    let wait = min(max(left, .milliseconds(10)), .seconds(3600))
    let task = Task { [weak self] in
      do { try await Task.sleep(for: wait) } catch { return }
      self?.post(.tick)
    }
    timer = (expires, task)
  }
}
