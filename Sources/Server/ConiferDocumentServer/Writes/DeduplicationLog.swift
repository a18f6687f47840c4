import ConiferDocument
import ConiferStorage
import ConiferWire

/// The results of batches whose answers may have been lost, by the stream that they came on. A
/// batch that is sent again gets its first result, and is not applied twice.
///
/// It is stored with each commit, so a restart forgets nothing.
struct DeduplicationLog: Sendable {
  /// How many streams are remembered beside those that are open; the ones that sent the longest time ago are forgotten.
  static let maxStreams = 1000
  /// How many batches of a stream are remembered.
  static let maxBatches = 100

  /// How many batches may be made on a stream beyond the last one whose answer the client says that it has.
  static let maxUnanswered: Int64 = 1000

  /// What tells a batch from others.
  struct BatchKey: Sendable, Hashable {
    /// A digest of its writes.
    let digest: [UInt8]
    /// The number that the client has given it; nil where the protocol has none, and equal batches are taken for one.
    let id: Int64?

    /// Whether a batch is the same one, sent again.
    func isSame(as other: BatchKey) -> Bool {
      guard let id, let otherID = other.id else { return digest == other.digest }
      return id == otherID && digest == other.digest
    }
  }

  /// A batch that was made.
  struct Batch: Sendable, Hashable {
    /// Its number on the stream, from 1.
    let number: Int64
    let key: BatchKey
    let result: CommitResult
  }

  /// What is remembered of one stream.
  struct Stream: Sendable {
    /// Whose stream it is; nil for nobody's.
    let user: String?
    /// The number of the last batch that was made.
    var last: Int64 = 0
    /// The batches whose answers the client may not have.
    var batches: [Batch] = []

    /// When it last sent a batch whose answer the client may not have.
    fileprivate var lastTime: Timestamp { batches.last?.result.commitTime ?? .zero }
  }

  private(set) var streams: [UInt64: Stream] = [:]
  /// The streams that are no longer remembered, and that the store still has.
  private(set) var forgotten: Set<UInt64> = []

  /// Begins to remember a stream.
  mutating func begin(_ id: UInt64, user: String?) { streams[id] = Stream(user: user) }

  /// The client has the answers up to a batch.
  mutating func acknowledge(_ id: UInt64, through number: Int64) {
    streams[id]?.batches.removeAll { $0.number <= number }
  }

  /// A batch was made on a stream that is open.
  ///
  /// - Returns: its number, and what is to be stored of the stream; nil of a stream that was never begun.
  mutating func remember(
    _ id: UInt64, _ key: BatchKey, _ result: CommitResult
  ) -> (number: Int64, record: MapValue)? {
    guard var stream = streams.removeValue(forKey: id) else { return nil }
    stream.last += 1
    stream.batches.append(Batch(number: stream.last, key: key, result: result))
    if stream.batches.count > Self.maxBatches { stream.batches.removeFirst() }
    streams[id] = stream
    return (stream.last, stream.record)
  }

  // MARK: Forgetting

  /// A stream has ended: one whose answers the client has is forgotten.
  mutating func end(_ id: UInt64) {
    if streams[id]?.batches.isEmpty == true { forget(id) }
  }

  /// Forgets the streams beyond the limit that sent the longest time ago.
  ///
  /// - Parameter open: the streams that are open, which are neither counted nor forgotten.
  mutating func trim(but open: Set<UInt64>) {
    guard streams.count > Self.maxStreams else { return }
    let ended = streams.lazy.filter { !open.contains($0.key) }.map { ($0.key, $0.value.lastTime) }
    let surplus = ended.count - Self.maxStreams
    guard surplus > 0 else { return }
    for (id, _) in ended.sorted(by: { $0.1 < $1.1 }).prefix(surplus) { forget(id) }
  }

  private mutating func forget(_ id: UInt64) {
    // Whatever made a batch was stored with it.
    if let stream = streams.removeValue(forKey: id), stream.last > 0 { forgotten.insert(id) }
  }

  /// The store no longer has the streams that were forgotten.
  mutating func forgetStored() { forgotten = [] }

  /// Goes on with what the store did not yet have of streams that are open.
  mutating func keep(_ open: Set<UInt64>, of earlier: DeduplicationLog) {
    for id in open where streams[id] == nil { streams[id] = earlier.streams[id] }
  }

  // MARK: The store

  /// The id of the document that keeps a stream.
  static func name(of stream: UInt64) -> String { String(stream, radix: 16) }

  /// Takes in a stream of the store.
  mutating func load(_ document: Document) {
    guard let id = UInt64(document.path.id, radix: 16),
      let stream = document.fields.flatMap(Stream.init)
    else { return }
    streams[id] = stream
  }
}

extension DeduplicationLog.BatchKey {
  init(_ writes: [Mutation], _ id: Int64?) {
    let payload = MutationBatch(written: .zero, bases: [], mutations: writes).payload
    var paths: [UInt8] = []
    for write in writes { paths += Array("\(write.path)".utf8) + [0] }
    let words = MD5(paths + payload.bytes).words
    self.init(digest: words.0.bigEndianBytes + words.1.bigEndianBytes, id: id)
  }
}

extension DeduplicationLog.Stream {
  var record: MapValue {
    var fields: MapValue = [
      "last": .integer(last), "batches": .array(batches.map { .map($0.record) }),
    ]
    if let user { fields["user"] = .string(user) }
    return fields
  }

  init?(_ record: MapValue) {
    guard case .integer(let last) = record["last"], case .array(let batches) = record["batches"]
    else { return nil }
    if case .string(let user) = record["user"] { self.user = user } else { user = nil }
    self.last = last
    self.batches = batches.compactMap { value in
      if case .map(let fields) = value { DeduplicationLog.Batch(fields) } else { nil }
    }
  }
}

extension DeduplicationLog.Batch {
  fileprivate var record: MapValue {
    let results = result.results.map { result -> DocumentValue in
      var fields: MapValue = ["transforms": .array(result.transforms)]
      if let time = result.updateTime { fields["update"] = .timestamp(time) }
      return .map(fields)
    }
    var fields: MapValue = [
      "number": .integer(number), "digest": .bytes(key.digest),
      "time": .timestamp(result.commitTime), "results": .array(results),
    ]
    if let id = key.id { fields["id"] = .integer(id) }
    return fields
  }

  fileprivate init?(_ record: MapValue) {
    guard case .integer(let number) = record["number"], case .bytes(let digest) = record["digest"],
      case .timestamp(let time) = record["time"], case .array(let values) = record["results"]
    else { return nil }
    let results = values.compactMap { value -> WriteResult? in
      guard case .map(let fields) = value, case .array(let transforms) = fields["transforms"]
      else { return nil }
      if case .timestamp(let update) = fields["update"] {
        return WriteResult(updateTime: update, transforms: transforms)
      }
      return WriteResult(updateTime: nil, transforms: transforms)
    }
    self.number = number
    let id: Int64? = if case .integer(let id) = record["id"] { id } else { nil }
    key = DeduplicationLog.BatchKey(digest: digest, id: id)
    self.result = CommitResult(commitTime: time, results: results)
  }
}
