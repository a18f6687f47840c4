package import ConiferDocument

/// The record that a tracked query of documents keeps in place of its resume token: the server's time up to which the
/// client has what the server said, and the token with which the server goes on.
package struct TargetRecord: Hashable, Sendable {
  /// The server's time up to which the client has what the server said; zero when it said nothing
  /// yet.
  package var version = Timestamp.zero
  /// The token with which the server goes on; empty when it starts anew.
  package var token: [UInt8] = []
  /// Whether the server has ever sent the complete result of the query.
  package var isComplete = false

  private static let format: UInt8 = 1
  private static let headSize = 13

  /// The bytes that are stored: format, seconds, nanoseconds, token; none while nothing is known.
  package var bytes: [UInt8] {
    guard version != .zero || !token.isEmpty else { return [] }
    var bytes = [Self.format]
    let seconds = UInt64(bitPattern: version.seconds)
    for shift in stride(from: 56, through: 0, by: -8) {
      bytes.append(UInt8(truncatingIfNeeded: seconds >> UInt64(shift)))
    }
    let nanoseconds = UInt32(bitPattern: version.nanoseconds)
    for shift in stride(from: 24, through: 0, by: -8) {
      bytes.append(UInt8(truncatingIfNeeded: nanoseconds >> UInt32(shift)))
    }
    return bytes + token
  }

  /// Nothing known.
  package init() {}

  /// Reads the stored record of a query; an invalid record counts as nothing known.
  package init(_ query: TrackedQuery) {
    self.init(query.resumeToken)
    isComplete = query.isComplete
  }

  /// Reads what `bytes` gives.
  package init(_ bytes: [UInt8]) {
    guard bytes.count >= Self.headSize, bytes[0] == Self.format else { return }
    let seconds = bytes[1..<9].reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
    let nanoseconds = bytes[9..<13].reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
    guard
      let time = try? Timestamp(
        seconds: Int64(bitPattern: seconds), nanoseconds: Int32(bitPattern: nanoseconds))
    else { return }
    version = time
    token = Array(bytes[Self.headSize...])
  }
}
