import ConiferKeyValue
import ConiferQuery
import ConiferTree

/// The range of path keys that a query asks for where its order is the order of keys.
struct KeyWindow {
  let low: Bytes
  let high: Bytes
  let limit: Int
  let fromEnd: Bool

  /// - Parameters:
  ///   - spec: a query by key, or by priority of a node whose children have none.
  ///   - node: the node's path key.
  init(_ spec: QuerySpec, below node: Bytes, _ order: KeyOrder) {
    var low = node + [PathKey.firstChildMark]
    var high = node + [PathKey.endMark]
    if let start = Edge(spec.start, spec.index, isStart: true) {
      switch start {
      case .nothing: low = high
      case .key(let key, let inclusive):
        low = node
        PathKey.append(key, order, to: &low)
        if !inclusive { low.append(PathKey.endMark) }
      }
    }
    if let end = Edge(spec.end, spec.index, isStart: false) {
      switch end {
      case .nothing: high = low
      case .key(let key, let inclusive):
        high = node
        PathKey.append(key, order, to: &high)
        if inclusive { high.append(PathKey.endMark) }
      }
    }
    self.low = low
    self.high = high
    limit = spec.limit?.count ?? .max
    fromEnd = spec.limit?.side == .last
  }

  /// The part of the keys that a bound keeps.
  private enum Edge {
    case nothing
    case key(Key, inclusive: Bool)

    /// Nil when the bound keeps all.
    init?(_ bound: QuerySpec.Bound?, _ index: QueryIndex, isStart: Bool) {
      guard let bound else { return nil }
      if index == .key {
        guard case .string(let text)? = bound.value else { return nil }
        self = .key(Key(text), inclusive: bound.inclusive)
        return
      }
      // Every child's value is null, which comes before all others.
      if bound.value != nil {
        guard isStart else { return nil }
        self = .nothing
      } else if let key = bound.key {
        self = .key(key, inclusive: bound.inclusive)
      } else {
        guard !bound.inclusive else { return nil }
        self = .nothing
      }
    }
  }
}
