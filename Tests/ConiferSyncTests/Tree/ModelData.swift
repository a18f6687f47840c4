import ConiferQuery
import ConiferTree
import TestSupport

/// Random data, paths and queries over few keys, so that they meet often.
///
/// Children named `p…` are leaves with priorities and are written whole: what remains of the
/// priority of a map that was empty for a moment depends on a history that no overlay keeps.
struct ModelData {
  var random: Seeded

  private let keys: [Key] = ["a", "b", "c", "d"]
  private let prioritised: [Key] = ["p1", "p2", "p3"]

  init(_ seed: UInt64) { random = Seeded(seed) }

  mutating func leaf() -> Leaf {
    switch random.below(8) {
    case 0: .bool(random.chance(50))
    case 1: .string(["x", "y", "é", "e\u{301}"][random.below(4)])
    case 2: .double(Double(random.below(6)) + 0.5)
    default: .integer(Int64(random.below(6)))
    }
  }

  mutating func node(depth: Int = 2) -> Node {
    if random.chance(25) { return .empty }
    if depth == 0 || random.chance(45) { return Node(leaf()) }
    var children: [(Key, Node)] = []
    for key in keys where random.chance(50) { children.append((key, node(depth: depth - 1))) }
    for key in prioritised where random.chance(20) { children.append((key, prioritisedLeaf())) }
    return Node(children: children)
  }

  private mutating func prioritisedLeaf() -> Node {
    let priorities: [Priority?] = [1, 2, "one", nil]
    return Node(leaf(), priority: priorities[random.below(4)])
  }

  mutating func place(maximum: Int = 2) -> Path {
    Path((0..<random.below(maximum + 1)).map { _ in keys[random.below(keys.count)] })
  }

  mutating func change() -> NodeChange {
    let path = place(maximum: random.chance(30) ? 3 : 2)
    if random.chance(20) {
      let key = prioritised[random.below(prioritised.count)]
      return NodeChange(path.appending(key), random.chance(30) ? .empty : prioritisedLeaf())
    }
    if path.isRoot && random.chance(70) { return change() }
    return NodeChange(path, node(depth: max(0, 3 - path.count)))
  }

  /// The changes of one set, or of an update whose paths do not contain each other.
  mutating func changes() -> [NodeChange] {
    var changes = [change()]
    if random.chance(70) { return changes }
    for _ in 0..<random.below(4) {
      let next = change()
      let overlaps = changes.contains {
        $0.path.contains(next.path) || next.path.contains($0.path)
      }
      if !overlaps { changes.append(next) }
    }
    return changes
  }

  mutating func target() throws -> QueryTarget {
    QueryTarget(place(), random.chance(40) ? .default : try spec())
  }

  mutating func spec() throws -> QuerySpec {
    var spec = QuerySpec.default
    let isByKey = random.chance(25)
    if isByKey {
      spec = try spec.ordered(by: .key)
    } else {
      switch random.below(4) {
      case 0: spec = try spec.ordered(by: .value)
      case 1: spec = try spec.ordered(byChild: "a")
      case 2: spec = try spec.ordered(byChild: "b/a")
      default: break
      }
    }
    func bound() -> Leaf {
      isByKey ? .string(keys[random.below(keys.count)].string) : .integer(Int64(random.below(5)))
    }
    let key = isByKey || random.chance(70) ? nil : keys[random.below(keys.count)]
    switch random.below(6) {
    case 0: spec = try spec.starting(at: bound(), key: key)
    case 1: spec = try spec.starting(after: bound(), key: key)
    case 2: spec = try spec.ending(at: bound(), key: key)
    case 3: spec = try spec.ending(before: bound(), key: key)
    default: break
    }
    let count = 1 + random.below(4)
    switch random.below(3) {
    case 0: return try spec.limited(toFirst: count)
    case 1: return try spec.limited(toLast: count)
    default: return spec
    }
  }
}
