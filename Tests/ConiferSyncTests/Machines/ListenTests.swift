import ConiferQuery
import ConiferStorage
import ConiferSync
import ConiferTree
import ConiferWire
import Testing

@Suite("Connection machine: listens")
struct ListenTests {
  private typealias Bench = ConnectionBench

  @Test("asks once, and after reconnecting again, in the order in which listens began")
  func restored() {
    var bench = Bench()
    for path in ["c", "a", "b"] { bench.give(.listen(Bench.listen(Path(path)))) }
    bench.give(.unlisten(Bench.listen("a")))
    bench.give(.reasonEnded(.starting))
    #expect(bench.hello().listens.map(\.listen) == [Bench.listen("c"), Bench.listen("b")])
    #expect(bench.give(.listen(Bench.listen("c"))).isEmpty)
    #expect(bench.answer(1) == [.listenAnswered(Bench.listen("c"), .ok)])
    bench.give(.listen(Bench.listen("d")))
    bench.lose()
    bench.pass(1_000)
    let again = bench.hello().listens.map(\.listen.target.path)
    #expect(again == ["c", "b", "d"])
  }

  @Test("ends a listen on the server; one that was refused or revoked has ended")
  func ended() {
    var bench = Bench()
    bench.connect()
    let (a, b) = (Bench.listen("a"), Bench.listen("b"))
    bench.give(.listen(a))
    bench.give(.listen(b))
    let refused = Response(.permissionDenied)
    #expect(bench.answer(1, refused) == [.listenAnswered(a, refused)])
    #expect(bench.give(.unlisten(a)).isEmpty)
    #expect(bench.give(.unlisten(b)).requests.map(\.request) == [.unlisten(b.target, tag: nil)])
    // The first answer is not taken for the second one's.
    #expect(bench.give(.listen(b)).listens.map(\.number) == [4])
    #expect(bench.answer(2).isEmpty)
    #expect(bench.answer(4) == [.listenAnswered(b, .ok)])
  }

  @Test("a revocation names one query")
  func revoked() throws {
    var bench = Bench()
    bench.connect()
    let first = Listen(QueryTarget("a", try QuerySpec.default.limited(toFirst: 2)), tag: 1)
    let second = Listen(QueryTarget("a", try QuerySpec.default.limited(toFirst: 3)), tag: 2)
    for listen in [first, second, Bench.listen("a"), Bench.listen("a/b")] {
      bench.give(.listen(listen))
    }
    #expect(
      bench.receive(.push(.listenRevoked("a", first.target.spec))) == [.listenRevoked(first)])
    #expect(
      bench.receive(.push(.listenRevoked("a", .default))) == [.listenRevoked(Bench.listen("a"))])
    // A query that loads all data is the default one's listen.
    bench.give(.listen(Bench.listen("a")))
    let all = try QuerySpec.default.ordered(by: .value)
    #expect(bench.receive(.push(.listenRevoked("a", all))) == [.listenRevoked(Bench.listen("a"))])
    bench.lose()
    bench.pass(1_000)
    #expect(bench.hello().listens.map(\.listen) == [second, Bench.listen("a/b")])
  }

  @Test("an acknowledgement waits for the listens that were sent before it came")
  func held() {
    var bench = Bench(newest: 1)
    bench.give(.listen(Bench.listen("a")))
    bench.give(.listen(Bench.listen("b")))
    bench.give(.reasonEnded(.starting))
    bench.hello()
    bench.give(.writes([Bench.write(1)], Bench.nobody, after: nil, isLast: true))
    #expect(bench.answer(3).isEmpty)
    bench.give(.listen(Bench.listen("later")))
    #expect(bench.answer(2).count == 1)
    #expect(
      bench.answer(1) == [
        .listenAnswered(Bench.listen("a"), .ok), .writeAnswered(Bench.id(1), .ok),
      ])
  }

  @Test("an acknowledgement before the news of its data is marked when the connection breaks")
  func earlyAtDisconnect() {
    for (path, isDataMissing) in [(Path("w"), true), ("w/1/x", true), ("v", false)] {
      var bench = Bench(newest: 1)
      bench.give(.listen(Bench.listen(path)))
      bench.give(.reasonEnded(.starting))
      bench.hello()
      bench.give(.writes([Bench.write(1)], Bench.nobody, after: nil, isLast: true))
      bench.answer(2)
      let (put, position) = (OperationID(rawValue: 1), bench.machine.takePosition())
      bench.give(.put(TransactionPut(put, position: position, "w", Node(1), hash: "h")))
      bench.answer(3)
      let lost = bench.lose()
      #expect(
        lost.contains(.writeAnswered(Bench.id(1), .ok, isDataMissing: isDataMissing)), "\(path)")
      #expect(lost.contains(.putAnswered(put, .ok, isDataMissing: isDataMissing)), "\(path)")
    }
  }

  @Test("an acknowledgement before the news of its data is marked when a purge lets it go")
  func earlyAtPurge() {
    for (path, isDataMissing) in [(Path("w"), true), ("w/1/x", true), ("v", false)] {
      var bench = Bench(newest: 1)
      bench.give(.listen(Bench.listen(path)))
      bench.give(.reasonEnded(.starting))
      bench.hello()
      bench.give(.writes([Bench.write(1)], Bench.nobody, after: nil, isLast: true))
      bench.answer(2)
      #expect(
        bench.give(.deliverAnswers) == [
          .writeAnswered(Bench.id(1), .ok, isDataMissing: isDataMissing)
        ], "\(path)")
    }
  }

  @Test("a held acknowledgement is handed on when the connection breaks")
  func heldAtDisconnect() {
    var bench = Bench(newest: 2)
    bench.give(.listen(Bench.listen("a")))
    bench.give(.reasonEnded(.starting))
    bench.hello()
    bench.give(.writes([Bench.write(1), Bench.write(2)], Bench.nobody, after: nil, isLast: true))
    bench.answer(2)
    #expect(
      bench.lose().filter { $0 != .log("The connection ended: lost") } == [
        .connected(false), .writable(false), .writeAnswered(Bench.id(1), .ok),
        .writeOutcomeUnknown(Bench.id(2)),
      ])
  }
}
