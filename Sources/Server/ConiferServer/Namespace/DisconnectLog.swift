/// Where a session's onDisconnect requests are stored: each under a number, in their order, so that a request costs what it
/// brings; and a head, which says which there are and as whom they run. Requests that later ones replaced are left out when
/// they take most of it.
struct DisconnectLog: Sendable {
  /// The numbers of the records.
  private(set) var numbers: Range<Int64> = 0..<0
  private var bytes = 0
  /// The bytes and the records when it was last made anew.
  private var least = (bytes: 0, records: 0)

  /// How many bytes, and how many records, more than twice the least are kept.
  private static let slack = (bytes: 64 * 1024, records: 1000)

  init() {}

  /// A log that was read.
  init(_ numbers: Range<Int64>) { self.numbers = numbers }

  var isEmpty: Bool { numbers.isEmpty }

  /// Adds a request; the record that is stored of it.
  mutating func append(_ change: DisconnectChange, of session: String) -> ServerRecord {
    let record = Self.record(session, numbers.upperBound, change.bytes)
    numbers = numbers.lowerBound..<numbers.upperBound + 1
    bytes += record.bytes?.count ?? 0
    // What it begins with counts as needed.
    if numbers.count == 1 { least = (bytes, 1) }
    return record
  }

  /// Whether it is to be made anew.
  var isBloated: Bool {
    bytes > 2 * least.bytes + Self.slack.bytes
      || numbers.count > 2 * least.records + Self.slack.records
  }

  /// Makes it anew of what is left to be done; the records that are stored then, without the head.
  mutating func renew(_ writes: DisconnectWrites, of session: String) -> [ServerRecord] {
    let gone = numbers.map { Self.record(session, $0, nil) }
    (numbers, bytes) = (numbers.upperBound..<numbers.upperBound, 0)
    let made = writes.units.map { unit in
      append(.write(unit.changes, base: unit.base, isMerge: unit.isMerge), of: session)
    }
    least = (bytes, numbers.count)
    return gone + made
  }

  /// What takes away the records, but those that another log has.
  func removal(of session: String, but kept: DisconnectLog = DisconnectLog()) -> [ServerRecord] {
    numbers.lazy.filter { !kept.numbers.contains($0) }.map { Self.record(session, $0, nil) }
  }

  private static func record(_ session: String, _ number: Int64, _ bytes: [UInt8]?) -> ServerRecord
  {
    let digits = String(number, radix: 16)
    let name = String(repeating: "0", count: max(0, digitCount - digits.count)) + digits
    return ServerRecord(name: "\(ServerRecord.disconnect)\(session)/\(name)", bytes: bytes)
  }

  private static let digitCount = 16

  /// The number that the last part of a record's name is; nil for the head, and for what no log names.
  static func number(_ text: some StringProtocol) -> Int64? {
    guard text.utf8.count == digitCount, let number = Int64(text, radix: 16), number >= 0,
      record("", number, nil).name.hasSuffix(text)
    else { return nil }
    return number
  }
}
