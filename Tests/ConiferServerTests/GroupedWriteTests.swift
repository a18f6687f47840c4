import ConiferKeyValue
import ConiferQuery
import ConiferTree
import ConiferWire
import Testing

@testable import ConiferServer

/// Writes that wait for a commit share the next one.
@Suite struct GroupedWriteTests {
  /// A stored database with one session, which says what it asks for.
  private struct Bench {
    var namespace: Namespace
    var number: UInt64 = 0

    init(_ root: Node = .empty, rules: any AccessRules = OpenRules()) {
      namespace = Namespace(root: root, isStored: true, rules: rules)
      _ = namespace.handle(
        .connect(SessionID(rawValue: 1), name: "1", host: "host", lastSession: nil), now: 0)
    }

    @discardableResult
    mutating func ask(_ request: Request) -> [String] {
      number += 1
      return words(
        namespace.handle(.message(SessionID(rawValue: 1), .request(number, request)), now: 0))
    }

    @discardableResult
    mutating func put(_ path: Path, _ node: Node, hash: String? = nil) -> [String] {
      ask(.put(path, node, hash: hash))
    }

    mutating func commits(_ failure: StoreError.Code? = nil) -> [String] {
      words(
        namespace.handle(.committed(failure.map { StoreError($0, "The test says so.") }), now: 0))
    }

    /// The commits and the answers.
    private func words(_ outputs: [Namespace.Output]) -> [String] {
      outputs.compactMap { output in
        switch output {
        case .commit(let changes, _):
          "store "
            + changes.map { "\($0.path)=\(String(decoding: $0.node.json(), as: UTF8.self))" }
            .joined(separator: " ")
        case .send(_, .response(let number, let response)): "\(number) \(response.status.rawValue)"
        default: nil
        }
      }
    }
  }

  @Test func `Those that wait behind a commit are stored together, and answered in their order`() {
    var bench = Bench()
    #expect(bench.put("a", 1) == ["store /a=1"])
    for number in 2...4 { #expect(bench.put("a", Node(.integer(Int64(number)))) == []) }
    #expect(bench.commits() == ["1 ok", "store /a=2 /a=3 /a=4"])
    #expect(bench.commits() == ["2 ok", "3 ok", "4 ok"])
    #expect(bench.namespace.root == ["a": 4])
    #expect(bench.namespace.isSettled)
  }

  @Test func `Each sees those before it, and one that is refused is answered behind them`() {
    var bench = Bench(rules: ClosureRules(write: { path, _, _ in path != "no" }))
    bench.put("a", 1)
    bench.put("a", 2)
    bench.put("a", 3, hash: NodeHash.hash(2))
    bench.put("a", 4, hash: NodeHash.hash(2))
    bench.put("no", 1)
    bench.put("n", Node(.serverValue(.increment(2))))
    bench.put("n", Node(.serverValue(.increment(2))))
    #expect(bench.commits() == ["1 ok", "store /a=2 /a=3"])
    #expect(
      bench.commits() == [
        "2 ok", "3 ok", "4 datastale", "5 permission_denied", "store /n=2 /n=4",
      ])
    #expect(bench.commits() == ["6 ok", "7 ok"])
    #expect(bench.namespace.root == ["a": 3, "n": 4])
  }

  @Test func `A read between them comes in its turn`() {
    var bench = Bench()
    bench.put("a", 1)
    bench.put("a", 2)
    bench.ask(.get(QueryTarget("a")))
    bench.put("a", 3)
    #expect(bench.commits() == ["1 ok", "store /a=2"])
    #expect(bench.commits() == ["2 ok", "3 ok", "store /a=3"])
    #expect(bench.commits() == ["4 ok"])
  }

  @Test func `A commit has a bounded number of bytes`() {
    var bench = Bench()
    bench.put("a", 1)
    let large = Node(.string(String(repeating: "x", count: 600_000)))
    for number in 0..<3 { bench.put(Path(["l", "\(number)"].map { Key($0) }), large) }
    let sizes = (0..<3).map { _ in bench.commits().last?.split(separator: "=").count ?? 0 }
    // The first word of each is no place.
    #expect(sizes == [3, 2, 1])
  }

  @Test func `When their commit fails, each is tried alone`() {
    var bench = Bench()
    bench.put("a", 1)
    for key in ["b", "c", "d"] { bench.put(Path([Key(key)]), 1) }
    #expect(bench.commits() == ["1 ok", "store /b=1 /c=1 /d=1"])
    // A read that came meanwhile stays behind them.
    #expect(bench.ask(.get(QueryTarget("c"))) == [])
    #expect(bench.commits(.tooLarge) == ["store /b=1"])
    #expect(bench.commits() == ["2 ok", "store /c=1"])
    #expect(!bench.namespace.isSettled)
    #expect(bench.commits(.tooLarge) == ["3 unavailable", "store /d=1"])
    #expect(bench.commits() == ["4 ok", "5 ok"])
    #expect(bench.namespace.root == ["a": 1, "b": 1, "d": 1])
  }

  @Test(arguments: [StoreError.Code.io, .poisoned])
  func `After a commit in doubt nothing is acknowledged that is not stored`(
    _ code: StoreError.Code
  ) {
    var bench = Bench(["a": 1, "b": 1])
    bench.put("a", 2)
    #expect(bench.commits(code) == ["1 unavailable"])
    // The store may have 2, and what it is told to keep makes it sure.
    #expect(bench.put("a", 1) == ["store /a=1 /a=1"])
    #expect(bench.commits(code) == ["2 unavailable"])
    #expect(bench.put("b", 5) == ["store /a=1 /b=5"])
    #expect(bench.commits() == ["3 ok"])
    #expect(bench.put("b", 5) == ["4 ok"])
    #expect(bench.put("b", 6) == ["store /b=6"])
  }

  @Test func `After a commit that surely changed nothing, nothing is stored again`() {
    var bench = Bench(["a": 1])
    bench.put("a", 2)
    #expect(bench.commits(.full) == ["1 unavailable"])
    #expect(bench.put("a", 1) == ["2 ok"])
    #expect(bench.put("b", 1) == ["store /b=1"])
  }
}
