import ConiferDocument
import ConiferWire
import Testing

@testable import ConiferDocumentSync

@Suite struct `The pipeline of writes` {
  private typealias F = Fixtures

  private static func batch(_ id: BatchID) -> (id: BatchID, batch: MutationBatch) {
    let mutation = Mutation(F.path("c/\(id)"), .set(.empty, []))
    return (id, MutationBatch([mutation], written: F.time(id)) { Document($0, .unseen) })
  }

  private static func batches(_ ids: ClosedRange<BatchID>) -> [(id: BatchID, batch: MutationBatch)]
  {
    ids.map(batch)
  }

  private static func send(_ ids: ClosedRange<BatchID>, _ token: [UInt8] = [1]) -> [WriteAction] {
    batches(ids).map { .send($0.id, $0.batch, token: token) }
  }

  /// With batches 1 to `count`, all that there are, sent.
  private static func sending(
    _ count: BatchID, refusedWith finalCodes: Set<StatusCode> = []
  ) -> WritePipeline {
    var pipeline = WritePipeline(refusedWith: finalCodes)
    #expect(pipeline.queued() == [.read(after: nil, count: 10)])
    #expect(pipeline.take(batches(1...count), after: nil, count: 10).first == .openStream)
    #expect(pipeline.streamOpened() == [.greet(token: [])])
    #expect(pipeline.greeted(token: [1]) == [.keep(token: [1])] + send(1...count))
    return pipeline
  }

  private static func answer(_ pipeline: inout WritePipeline) -> [WriteAction] {
    pipeline.answered(commitTime: F.time(9), [WriteResult(updateTime: F.time(8))], token: [2])
  }

  private static func accepted(_ id: BatchID) -> WriteAction {
    .accepted(
      id, batch(id).batch, commitTime: F.time(9), [WriteResult(updateTime: F.time(8))],
      token: [2])
  }

  @Test func `sends ten at most, and the next one with each answer`() {
    var pipeline = Self.sending(10)
    #expect(pipeline.outstanding == Array(1...10))
    #expect(pipeline.queued().isEmpty)
    #expect(Self.answer(&pipeline) == [Self.accepted(1), .read(after: 10, count: 1)])
    #expect(pipeline.take([Self.batch(11)], after: 10, count: 1) == Self.send(11...11, [2]))
    #expect(pipeline.outstanding == Array(2...11))
  }

  @Test func `answers in the order in which it sent, and rests when all is sent`() {
    var pipeline = Self.sending(2)
    #expect(Self.answer(&pipeline) == [Self.accepted(1)])
    #expect(Self.answer(&pipeline) == [Self.accepted(2), .idle])
    // An answer to nothing is none.
    #expect(Self.answer(&pipeline).isEmpty)
    // The idle stream serves the next write.
    #expect(pipeline.queued() == [.read(after: 2, count: 10)])
    #expect(pipeline.take([Self.batch(3)], after: 2, count: 10) == Self.send(3...3, [2]))
    // Nobody opens a stream for nothing.
    #expect(Self.answer(&pipeline).last == .idle)
    #expect(pipeline.streamClosed(nil).isEmpty)
  }

  @Test func `asks the queue again when a batch came while it was asked`() {
    var pipeline = WritePipeline()
    #expect(pipeline.queued().count == 1)
    #expect(pipeline.queued().isEmpty)
    #expect(pipeline.take([], after: nil, count: 10) == [.read(after: nil, count: 10)])
    #expect(pipeline.take([], after: nil, count: 10).isEmpty)
  }

  @Test func `sends a batch that is queued again once no younger one is on its way`() {
    var pipeline = Self.sending(10)
    _ = pipeline.queued()
    // Batch 0 was refused before; meanwhile nothing younger is read, and nothing is sent twice.
    #expect(pipeline.requeued().isEmpty)
    for id in 1...9 { #expect(Self.answer(&pipeline) == [Self.accepted(BatchID(id))]) }
    #expect(Self.answer(&pipeline) == [Self.accepted(10), .read(after: nil, count: 10)])
    #expect(pipeline.take(Self.batches(0...0), after: nil, count: 10) == Self.send(0...0, [2]))
  }

  @Test func `begins with a batch that is queued again when nothing is on its way`() {
    var pipeline = Self.sending(2)
    #expect(pipeline.requeued().isEmpty)
    let actions = pipeline.streamClosed(StatusError(.unavailable, ""))
    #expect(actions == [.read(after: nil, count: 10)])
    #expect(pipeline.take(Self.batches(0...2), after: nil, count: 10) == [.openStream])
    #expect(pipeline.requeued() == [.read(after: nil, count: 10)])
  }

  @Test func `lets go of a batch that is not on its way`() {
    var pipeline = WritePipeline()
    _ = pipeline.queued()
    _ = pipeline.take(Self.batches(1...3), after: nil, count: 10)
    let isWithdrawn = pipeline.withdraw(2)
    #expect(isWithdrawn)
    _ = pipeline.streamOpened()
    #expect(
      pipeline.greeted(token: [1])
        == [.keep(token: [1])] + Self.send(1...1) + Self.send(3...3))
    let (sent, unknown) = (pipeline.withdraw(3), pipeline.withdraw(4))
    #expect(!sent && unknown)
    #expect(pipeline.outstanding == [1, 3])
  }

  @Test func `rests when the only batch was given up before the server was greeted`() {
    var pipeline = WritePipeline()
    _ = pipeline.queued()
    _ = pipeline.take(Self.batches(1...1), after: nil, count: 10)
    let isWithdrawn = pipeline.withdraw(1)
    #expect(isWithdrawn)
    _ = pipeline.streamOpened()
    #expect(pipeline.greeted(token: [1]) == [.keep(token: [1]), .idle])
  }

  @Test(arguments: StatusCode.allCases.filter { $0 != .ok })
  func `drops a batch only when the server would refuse it again`(code: StatusCode) {
    let permanent: Set<StatusCode> = [
      .invalidArgument, .notFound, .alreadyExists, .permissionDenied, .failedPrecondition,
      .outOfRange, .unimplemented, .dataLoss,
    ]
    let error = StatusError(code, "")
    var pipeline = Self.sending(3)
    guard permanent.contains(code) else {
      #expect(pipeline.streamClosed(error) == [.openStream])
      #expect(pipeline.outstanding.isEmpty)
      #expect(pipeline.streamOpened() == [.greet(token: [1])])
      #expect(pipeline.greeted(token: [1]) == Self.send(1...3))
      return
    }
    #expect(pipeline.streamClosed(error) == [.inhibitBackoff, .refused(1, error), .openStream])
    _ = pipeline.streamOpened()
    #expect(pipeline.greeted(token: [1]) == Self.send(2...3))
  }

  @Test func `drops a batch that is refused with a code that its server means for good`() {
    let full = StatusError(.resourceExhausted, "")
    var pipeline = Self.sending(2, refusedWith: [.resourceExhausted])
    #expect(pipeline.streamClosed(full) == [.inhibitBackoff, .refused(1, full), .openStream])
    // Not before a batch was sent.
    #expect(pipeline.streamClosed(full) == [.openStream])
    _ = pipeline.streamOpened()
    #expect(pipeline.greeted(token: [1]) == Self.send(2...2))
  }

  @Test(arguments: [StatusCode.invalidArgument, .aborted])
  func `drops nothing before the server was greeted, but the token`(code: StatusCode) {
    let error = StatusError(code, "")
    var pipeline = Self.sending(2)
    #expect(pipeline.streamClosed(StatusError(.unavailable, "")) == [.openStream])
    // Nobody was greeted, so that no token was refused.
    #expect(pipeline.streamClosed(error) == [.openStream])
    #expect(pipeline.streamOpened() == [.greet(token: [1])])
    #expect(pipeline.streamClosed(error) == [.keep(token: []), .openStream])
    #expect(pipeline.streamOpened() == [.greet(token: [])])
    #expect(pipeline.streamClosed(error) == [.openStream])
    _ = pipeline.streamOpened()
    #expect(pipeline.greeted(token: [1]) == [.keep(token: [1])] + Self.send(1...2))
  }

  @Test func `refuses what no request may have, and sends what waits behind it`() {
    let text = DocumentValue.string(String(repeating: "x", count: 900_000))
    let write = Mutation(F.path("c/large"), .set(["a": text], []))
    let large = MutationBatch(Array(repeating: write, count: 12), written: F.time(1)) {
      Document($0, .unseen)
    }
    func isRefused(_ action: WriteAction?, _ id: BatchID) -> Bool {
      guard case .refused(id, let error) = action else { return false }
      return error.code == .invalidArgument && error.message.contains("10485760")
    }
    var pipeline = WritePipeline()
    #expect(pipeline.queued() == [.read(after: nil, count: 10)])
    let first = pipeline.take([(1, large), Self.batch(2)], after: nil, count: 10)
    #expect(first.count == 2 && isRefused(first.first, 1) && first.last == .openStream)
    _ = pipeline.streamOpened()
    #expect(pipeline.greeted(token: [1]) == [.keep(token: [1])] + Self.send(2...2))
    // Also while others are on their way, of which the first is answered first.
    #expect(pipeline.queued() == [.read(after: 2, count: 9)])
    let second = pipeline.take([(3, large), Self.batch(4)], after: 2, count: 9)
    #expect(second.count == 2 && isRefused(second.first, 3))
    #expect(second.last == .send(4, Self.batch(4).batch, token: [1]))
    #expect(pipeline.outstanding == [2, 4])
    // One that is the last of the queue leaves nothing to be sent.
    var alone = WritePipeline()
    _ = alone.queued()
    let last = alone.take([(1, large)], after: nil, count: 10)
    #expect(last.count == 1 && isRefused(last.first, 1))
    #expect(alone.queued() == [.read(after: 1, count: 10)])
  }

  @Test func `without a network sends nothing, and reads the queue anew with one`() {
    var pipeline = Self.sending(2)
    #expect(pipeline.setEnabled(false).isEmpty)
    #expect(pipeline.outstanding.isEmpty)
    #expect(pipeline.queued().isEmpty)
    #expect(Self.answer(&pipeline).isEmpty && pipeline.streamClosed(nil).isEmpty)
    #expect(pipeline.setEnabled(true) == [.read(after: nil, count: 10)])
    #expect(pipeline.setEnabled(true).isEmpty)
    #expect(pipeline.take(Self.batches(1...3), after: nil, count: 10) == [.openStream])
  }

  @Test func `of another user begins anew`() {
    var pipeline = Self.sending(2)
    #expect(pipeline.userChanged(token: [5]) == [.read(after: nil, count: 10)])
    // The answer for the user before.
    #expect(pipeline.take([Self.batch(3)], after: 2, count: 8).isEmpty)
    #expect(pipeline.take([Self.batch(7)], after: nil, count: 10) == [.openStream])
    #expect(pipeline.streamOpened() == [.greet(token: [5])])
    // The server goes on where it was: there is nothing new to keep.
    #expect(pipeline.greeted(token: [5]) == Self.send(7...7, [5]))
  }
}

@Suite struct `Who waits for pending writes` {
  @Test func `waits for those of the time of the call, however they end`() {
    var pending = PendingWriteWaiters()
    #expect(pending.wait(1, until: nil) == true)
    #expect(pending.wait(2, until: 5) == false)
    #expect(pending.wait(3, until: 6) == false)
    #expect(pending.ended(left: [5, 6]).isEmpty)
    #expect(pending.ended(left: [6]) == [2])
    #expect(pending.ended(left: []) == [3])
    #expect(pending.ended(left: []).isEmpty)
  }

  @Test func `waits for none that was refused and is queued again meanwhile`() {
    var pending = PendingWriteWaiters()
    #expect(pending.wait(1, until: 5) == false)
    pending.requeued(3)
    #expect(pending.wait(2, until: 5) == false)
    #expect(!pending.isAwaited(3) && pending.isAwaited(4))
    #expect(pending.ended(left: [3, 4]).isEmpty)
    #expect(pending.ended(left: [3]) == [1])
    #expect(pending.isAwaited(3))
    #expect(pending.ended(left: [6]) == [2])
  }

  @Test func `fails when the user changes`() {
    var pending = PendingWriteWaiters()
    #expect(pending.wait(2, until: 5) == false)
    #expect(pending.wait(3, until: 6) == false)
    #expect(pending.userChanged() == [2, 3])
    #expect(pending.ended(left: []).isEmpty)
  }
}
