import ConiferQuery
import ConiferTree
import Foundation
import TestSupport

/// What random programs are made of.
enum Programs {
  /// `CONIFER_SEED` replays one seed, `CONIFER_PROGRAMS` sets how many are run.
  static let seeds: [UInt64] = {
    let variables = ProcessInfo.processInfo.environment
    if let seed = variables["CONIFER_SEED"].flatMap({ UInt64($0) }) { return [seed] }
    let count = variables["CONIFER_PROGRAMS"].flatMap { UInt64($0) } ?? 5
    return Array(1...max(1, count))
  }()

  static let keys: [Key] = ["1", "2", "10", "-a", "b", "c"]

  static func path(_ random: inout Seeded, longest: Int = 3) -> Path {
    Path((0..<random.below(longest + 1)).map { _ in random.pick(keys) })
  }

  static func leaf(_ random: inout Seeded) -> Node {
    let leaf: Leaf =
      switch random.below(5) {
      case 0: .bool(Bool.random(using: &random))
      case 1: .string(random.pick(["a", "b", "é"]))
      case 2: .double(Double(random.below(4)) / 2)
      default: .integer(Int64(random.below(5)))
      }
    return Node(leaf, priority: priority(&random))
  }

  static func priority(_ random: inout Seeded) -> Priority? {
    switch random.below(8) {
    case 0: Priority(Int64(random.below(3)))
    case 1: Priority(random.pick(["p", "q"]))
    default: nil
    }
  }

  static func node(_ depth: Int, _ random: inout Seeded) -> Node {
    if depth == 0 || random.one(in: 3) { return leaf(&random) }
    return Node(
      children: (0..<random.below(5)).map { _ in (random.pick(keys), node(depth - 1, &random)) },
      priority: priority(&random))
  }

  /// A child that queries of every index tell apart.
  static func child(_ random: inout Seeded) -> Node {
    if random.one(in: 3) { return leaf(&random) }
    var node: Node = ["b": leaf(&random).settingPriority(nil)]
    if random.one(in: 2) { node = node.setting("c" as Key, to: leaf(&random)) }
    return node.settingPriority(priority(&random))
  }

  /// A query by any index with any range and limit that is valid.
  static func spec(_ random: inout Seeded) -> QuerySpec {
    while true {
      let index = random.pick([QueryIndex.priority, .key, .value, .child("b")])
      let (hasStart, hasEnd, hasLimit) = (
        random.one(in: 3), random.one(in: 3), random.one(in: 2)
      )
      let (start, end) = (bound(index, &random), bound(index, &random))
      let isInclusive = (Bool.random(using: &random), Bool.random(using: &random))
      let count = 1 + random.below(3)
      let isFirst = Bool.random(using: &random)
      do throws(TreeError) {
        var spec = try QuerySpec.default.ordered(by: index)
        if hasStart {
          spec =
            isInclusive.0
            ? try spec.starting(at: start.0, key: start.1)
            : try spec.starting(after: start.0, key: start.1)
        }
        if hasEnd {
          spec =
            isInclusive.1
            ? try spec.ending(at: end.0, key: end.1)
            : try spec.ending(before: end.0, key: end.1)
        }
        if hasLimit {
          spec = isFirst ? try spec.limited(toFirst: count) : try spec.limited(toLast: count)
        }
        if !spec.loadsAllData { return spec }
      } catch {
        continue
      }
    }
  }

  private static func bound(_ index: QueryIndex, _ random: inout Seeded) -> (Leaf?, Key?) {
    if index == .key { return (.string(random.pick(keys).string), nil) }
    let value: Leaf? = random.one(in: 6) ? nil : leaf(&random).leaf
    return (value, random.one(in: 3) ? random.pick(keys) : nil)
  }
}

/// A tree as the reference describes it, in the plainest way: leaves and priorities by their paths.
struct PlainTree: Equatable {
  private(set) var leaves: [Path: Leaf] = [:]
  private(set) var priorities: [Path: Leaf] = [:]

  init() {}

  /// What a node holds.
  init(_ node: Node) { add(node, .root) }

  private mutating func add(_ node: Node, _ path: Path) {
    leaves[path] = node.leaf
    priorities[path] = node.priority?.leaf
    for child in node.children { add(child.node, path.appending(child.key)) }
  }

  /// Whether there is data at a path or below it.
  func hasData(_ path: Path) -> Bool { leaves.keys.contains { path.contains($0) } }

  mutating func set(_ path: Path, _ node: Node) {
    if path.last?.isPriority == true, let parent = path.parent {
      if hasData(parent) { priorities[parent] = node.leaf }
      return
    }
    let isBelowLeaf = leaves.keys.contains { $0.contains(path) && $0 != path }
    if node.isEmpty, isBelowLeaf { return }
    for key in leaves.keys where path.contains(key) || key.contains(path) { leaves[key] = nil }
    for key in priorities.keys where path.contains(key) { priorities[key] = nil }
    add(node, path)
    for key in priorities.keys where !hasData(key) { priorities[key] = nil }
  }
}
