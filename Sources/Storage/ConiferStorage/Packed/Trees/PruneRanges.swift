import ConiferKeyValue
import ConiferTree

/// Computes the key ranges that a prune forest removes: the deepest marker above a key decides, and
/// a pin keeps all at and below it.
enum PruneRanges {
  struct KeyRange: Equatable {
    let low: Bytes
    let high: Bytes
  }

  static func ranges(_ forest: PruneForest, pinned: [Path], _ order: KeyOrder) -> [KeyRange] {
    var markers: [(key: Bytes, isPruned: Bool)] = []
    for (path, marker) in forest.markers where !pinned.contains(where: { $0.contains(path) }) {
      markers.append((PathKey.encode(path, order), marker == .prune))
    }
    for path in pinned { markers.append((PathKey.encode(path, order), false)) }
    markers.sort { bytesPrecede($0.key, $1.key) }

    var ranges: [KeyRange] = []
    var open: [(end: Bytes, isPruned: Bool)] = []
    var at = Bytes()
    /// Goes on to a boundary, and removes what lies before it if the deepest open marker says so.
    func advance(to boundary: Bytes) {
      if open.last?.isPruned == true, bytesPrecede(at, boundary) {
        if let last = ranges.last, last.high == at {
          ranges[ranges.count - 1] = KeyRange(low: last.low, high: boundary)
        } else {
          ranges.append(KeyRange(low: at, high: boundary))
        }
      }
      at = boundary
    }
    for marker in markers {
      while let top = open.last, !bytesPrecede(marker.key, top.end) {
        advance(to: top.end)
        open.removeLast()
      }
      advance(to: marker.key)
      open.append((marker.key + [PathKey.endMark], marker.isPruned))
    }
    while let top = open.popLast() {
      open.append(top)
      advance(to: top.end)
      open.removeLast()
    }
    return ranges
  }
}
