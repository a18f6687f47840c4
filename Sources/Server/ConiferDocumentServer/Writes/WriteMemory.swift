import ConiferDocument
import ConiferStorage
import ConiferWire

/// What was made of batches whose answers may have been lost, by the streams of writes that they came on.
///
/// It is stored with each commit, so a restart forgets nothing.
struct WriteMemory: Sendable {
  /// How many streams are remembered; the one that has not sent anything for the longest time is forgotten.
  static let mostStreams = 1000
  /// How many batches of a stream are remembered.
  static let mostBatches = 100

  /// A batch that was made.
  struct Batch: Sendable, Hashable {
    /// Its number on the stream, from 1.
    let number: Int64
    /// What tells it from other batches.
    let digest: [UInt8]
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
  }

  private(set) var streams: [UInt64: Stream] = [:]

  /// Begins to remember a stream.
  mutating func begin(_ id: UInt64, user: String?) {
    if streams.count >= Self.mostStreams {
      for (other, stream) in streams where stream.batches.isEmpty { streams[other] = nil }
    }
    streams[id] = Stream(user: user)
  }

  /// The client has the answers up to a batch.
  mutating func acknowledge(_ id: UInt64, through number: Int64) {
    streams[id]?.batches.removeAll { $0.number <= number }
  }

  /// A batch was made.
  ///
  /// - Returns: its number, and the streams that are to be stored; nil for those that are forgotten.
  mutating func remember(
    _ id: UInt64, _ digest: [UInt8], _ result: CommitResult
  ) -> (number: Int64, changed: [(id: UInt64, record: MapValue?)]) {
    guard var stream = streams.removeValue(forKey: id) else { return (0, []) }
    stream.last += 1
    stream.batches.append(Batch(number: stream.last, digest: digest, result: result))
    if stream.batches.count > Self.mostBatches { stream.batches.removeFirst() }
    streams[id] = stream
    var changed: [(id: UInt64, record: MapValue?)] = [(id, stream.record)]
    while streams.count > Self.mostStreams, let oldest = oldest(but: id) {
      streams[oldest] = nil
      changed.append((oldest, nil))
    }
    return (stream.last, changed)
  }

  private func oldest(but id: UInt64) -> UInt64? {
    streams.lazy.filter { $0.key != id }.min { a, b in
      (a.value.batches.last?.result.commitTime ?? .zero)
        < (b.value.batches.last?.result.commitTime ?? .zero)
    }?.key
  }

  /// What tells a batch from others: a digest of its writes.
  static func digest(of writes: [Mutation]) -> [UInt8] {
    let payload = MutationBatch(written: .zero, bases: [], mutations: writes).payload
    var paths: [UInt8] = []
    for write in writes { paths += Array("\(write.path)".utf8) + [0] }
    let words = MD5(paths + payload.bytes).words
    return words.0.bigEndianBytes + words.1.bigEndianBytes
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

extension WriteMemory.Stream {
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
      if case .map(let fields) = value { WriteMemory.Batch(fields) } else { nil }
    }
  }
}

extension WriteMemory.Batch {
  fileprivate var record: MapValue {
    let results = result.results.map { result -> DocumentValue in
      var fields: MapValue = ["transforms": .array(result.transforms)]
      if let time = result.updateTime { fields["update"] = .timestamp(time) }
      return .map(fields)
    }
    return [
      "number": .integer(number), "digest": .bytes(digest), "time": .timestamp(result.commitTime),
      "results": .array(results),
    ]
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
    self.digest = digest
    self.result = CommitResult(commitTime: time, results: results)
  }
}
