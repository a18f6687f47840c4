import ConiferSync
import ConiferTree
import ConiferWire
import Testing

/// A transaction machine over views that are a node with writes on top.
struct TransactionBench {
  struct Write {
    let path: Path
    let node: Node
    let isVisible: Bool
  }

  var machine = TransactionMachine()
  /// What the server has told.
  var known = Node.empty
  private(set) var overlays: [LanePosition: Write] = [:]
  private(set) var lastStep: UInt64 = 0
  /// The functions that were asked for, with their input.
  private(set) var runs: [(id: TransactionID, input: Node)] = []
  private(set) var puts: [TransactionPut] = []
  private(set) var outcomes: [TransactionID: TransactionOutcome] = [:]
  private(set) var listens: Set<TransactionID> = []
  /// What was acknowledged before its news.
  private(set) var withoutData: Set<LanePosition> = []
  private var depth = 0
  /// How deep inputs were given while another one's actions were done.
  private(set) var deepest = 0
  /// What views showed after each action that changes them.
  private(set) var shown: [Node] = []

  /// What views show; hidden writes are left out.
  var view: Node { layered { $0.value.isVisible } }

  /// What views show at a path.
  subscript(_ path: Path) -> Node { view[path] }

  func state(_ path: Path, _ filter: OverlayFilter) -> Node {
    layered { filter.counts($0.key, isVisible: $0.value.isVisible) }[path]
  }

  private func layered(_ isWanted: ((key: LanePosition, value: Write)) -> Bool) -> Node {
    var node = known
    for (_, write) in overlays.filter({ isWanted($0) }).sorted(by: { $0.key < $1.key }) {
      node = node.setting(write.path, to: write.node)
    }
    return node
  }

  mutating func position() -> LanePosition {
    lastStep += 1
    return LanePosition(0, lastStep)
  }

  mutating func give(_ input: TransactionInput) {
    depth += 1
    defer { depth -= 1 }
    deepest = max(deepest, depth)
    var machine = self.machine
    let actions = machine.handle(input) { state($0, $1) }
    self.machine = machine
    for action in actions { execute(action) }
  }

  private mutating func execute(_ action: TransactionAction) {
    switch action {
    case .listen(let id, _): listens.insert(id)
    case .unlisten(let id, _): listens.remove(id)
    case .run(let id, _, let input): runs.append((id: id, input: input))
    case .write(let id, let path, let node, let isVisible):
      overlays[id] = Write(path: path, node: node, isVisible: isVisible)
      shown.append(view)
    case .revert(let id):
      overlays[id] = nil
      shown.append(view)
    case .acknowledge(let id, let isDataMissing):
      if isDataMissing { withoutData.insert(id) }
      if let write = overlays.removeValue(forKey: id) {
        known = known.setting(write.path, to: write.node)
      }
      shown.append(view)
    case .put(let put): puts.append(put)
    case .complete(let id, let outcome): outcomes[id] = outcome
    case .proceed: give(.proceed)
    }
  }

  @discardableResult
  mutating func start(_ number: UInt64, _ path: Path, isVisible: Bool = true) -> TransactionID {
    let id = TransactionID(rawValue: number)
    give(.start(id, path, isVisible: isVisible, position: position()))
    return id
  }

  /// Answers the oldest function that was asked for.
  @discardableResult
  mutating func run(_ body: (Node) -> TransactionMachine.Decision) -> TransactionID? {
    guard !runs.isEmpty else { return nil }
    let (id, input) = runs.removeFirst()
    give(.ran(id, body(input), writePosition: position(), serverTime: 1_000))
    return id
  }

  /// Answers all functions: each adds one.
  mutating func runAll() {
    while run(TransactionBench.increment) != nil {}
  }

  static func increment(_ node: Node) -> TransactionMachine.Decision {
    .write(Node(.double((node.leaf?.number ?? 0) + 1)))
  }

  /// Takes the oldest put that was asked for.
  mutating func takePut() -> TransactionPut? { puts.isEmpty ? nil : puts.removeFirst() }

  /// Takes the oldest put; there must be one.
  mutating func put() throws -> TransactionPut {
    let put = takePut()
    return try #require(put)
  }

  /// The server's news reach the client.
  mutating func learn(_ node: Node, at path: Path = .root) {
    known = known.setting(path, to: node)
    give(.changed(path))
  }

  /// The app sets a node.
  mutating func set(_ path: Path, _ node: Node) {
    overlays[position()] = Write(path: path, node: node, isVisible: true)
    give(.overwritten([path]))
  }
}
