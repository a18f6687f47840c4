import ConiferDocument
import ConiferKeyValue
import ConiferLeafStore

/// Rows whose keys lie in `low ..< high`.
struct RowRange: Hashable, Sendable {
  let low: Bytes
  let high: Bytes

  /// The rows that both hold; nil when there are none.
  func intersection(_ other: RowRange) -> RowRange? {
    let range = RowRange(
      low: bytesPrecede(low, other.low) ? other.low : low,
      high: bytesPrecede(high, other.high) ? high : other.high)
    return bytesPrecede(range.low, range.high) ? range : nil
  }

  /// Ascending ranges, with overlapping ones joined: the rows of a value that was cut are in both
  /// neighbouring ranges.
  static func joined(_ ranges: [RowRange]) -> [RowRange] {
    var joined: [RowRange] = []
    for range in ranges {
      if let last = joined.last, !bytesPrecede(last.high, range.low) {
        let high = bytesPrecede(last.high, range.high) ? range.high : last.high
        joined[joined.count - 1] = RowRange(low: last.low, high: high)
      } else {
        joined.append(range)
      }
    }
    return joined
  }
}

/// A bound among the rows of an index: before or after the rows that begin with some bytes.
///
/// Rows hold values and names cut. A range between two bounds includes at least the rows of all
/// documents between them; rows at a bound that was cut are included.
struct RowBound: Sendable {
  /// The index's prefix, the collection's path and values.
  var bytes: Bytes
  /// A name after all the values of the index.
  var name: Bytes = []
  var isAfter = false

  /// - Parameter start: where values begin.
  func low(_ start: Int) -> Bytes {
    let longest = start + DocumentIndexRows.longestValues
    if bytes.count > longest { return Bytes(bytes[..<longest]) }
    let cut = bytes + name.prefix(DocumentIndexRows.shortestName)
    guard isAfter, name.count <= DocumentIndexRows.shortestName else { return cut }
    return StoreKey.end(of: cut) ?? cut
  }

  /// - Parameter start: where values begin.
  func high(_ start: Int) -> Bytes {
    let longest = start + DocumentIndexRows.longestValues
    let isCut = bytes.count > longest || name.count > DocumentIndexRows.shortestName
    let cut =
      bytes.count > longest
      ? Bytes(bytes[..<longest]) : bytes + name.prefix(DocumentIndexRows.shortestName)
    return isAfter || isCut ? StoreKey.end(of: cut) ?? cut + [0xFF] : cut
  }
}
