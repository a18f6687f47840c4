// How many bytes writes take in a request to the service, which are the bytes of its protobuf messages.
extension Mutation {
  /// The bytes that the write takes in a request, at most.
  ///
  /// It is exact but for the database, for whose name 128 bytes are counted with the document's. It
  /// may be far more than the service counts for a document's size: null takes 4 bytes in an array.
  package var requestSize: Int {
    var size = 0
    switch change {
    case .set(let fields, _): size += Encoded.message(documentSize(fields))
    case .patch(let fields, let mask, _):
      size += Encoded.message(documentSize(fields))
      size += Encoded.message(mask.paths.reduce(0) { $0 + Encoded.text($1.canonical) })
    case .delete, .verify: size += nameSize
    }
    for transform in transforms {
      let operation = Encoded.message(transform.operation.requestSize)
      size += Encoded.message(Encoded.text(transform.field.canonical) + operation)
    }
    // A time has up to 17 bytes with the messages around it.
    if precondition != .none { size += 24 }
    return Encoded.message(size)
  }

  private var nameSize: Int { Encoded.message(128 + path.path.text.utf8.count) }

  private func documentSize(_ fields: MapValue) -> Int { nameSize + fields.requestSize }
}

extension [Mutation] {
  /// Checks that one request may have the writes.
  ///
  /// - Throws: `requestTooLarge` for more than 10,000 of them, or more than 10 MiB.
  package func validateSize() throws(DocumentError) {
    guard count <= DocumentLimits.writes else {
      throw DocumentError(
        .requestTooLarge,
        "There are \(count) writes to be made together; \(DocumentLimits.writes) are allowed. "
          + "Split them into several batches.")
    }
    let size = reduce(0) { $0 + $1.requestSize }
    guard size <= DocumentLimits.requestSize else {
      throw DocumentError(
        .requestTooLarge,
        "The writes to be made together have \(size) bytes; \(DocumentLimits.requestSize) are "
          + "allowed. Split them into several batches.")
    }
  }
}

extension MutationBatch {
  /// Checks that one request to the service may have the batch.
  ///
  /// - Throws: `requestTooLarge` for more than 10,000 writes, or more than 10 MiB as the service's
  ///   messages have them.
  public func validateSize() throws(DocumentError) { try mutations.validateSize() }
}

/// Sizes of the fields of messages, whose numbers are below 16 unless told.
private enum Encoded {
  /// A message or a text of so many bytes, with its number and its length.
  static func message(_ size: Int) -> Int { 1 + varint(size) + size }
  static func text(_ text: String) -> Int { message(text.utf8.count) }

  /// The bytes of a number.
  static func varint(_ number: Int) -> Int { varint(Int64(number)) }
  static func varint(_ number: Int64) -> Int {
    let bits = 64 - UInt64(bitPattern: number | 1).leadingZeroBitCount
    return (bits + 6) / 7
  }
}

extension DocumentValue {
  /// The bytes of the value's message.
  fileprivate var requestSize: Int {
    switch self {
    case .null, .boolean: return 2
    case .integer(let number): return 1 + Encoded.varint(number)
    case .double: return 9
    case .timestamp(let time), .serverTimestamp(let time, _):
      return Encoded.message(
        2 + Encoded.varint(time.seconds) + Encoded.varint(Int64(time.nanoseconds)))
    // Their fields have numbers of two bytes.
    case .string(let text): return 1 + Encoded.text(text)
    case .bytes(let bytes): return 1 + Encoded.message(bytes.count)
    case .reference(let name): return Encoded.text("\(name)")
    case .geoPoint: return Encoded.message(18)
    case .array(let values): return Encoded.message(values.requestSize)
    case .vector(let numbers):
      return DocumentValue.map([
        "__type__": "__vector__", "value": .array(numbers.map { .double($0) }),
      ]).requestSize
    case .map(let map): return Encoded.message(map.requestSize)
    }
  }
}

extension [DocumentValue] {
  /// The bytes of the message of an array.
  fileprivate var requestSize: Int { reduce(0) { $0 + Encoded.message($1.requestSize) } }
}

extension MapValue {
  /// The bytes of the fields of a map or a document.
  fileprivate var requestSize: Int {
    fields.reduce(0) {
      $0 + Encoded.message(Encoded.text($1.name) + Encoded.message($1.value.requestSize))
    }
  }
}

extension FieldTransform.Operation {
  /// The bytes of the operation's message.
  fileprivate var requestSize: Int {
    switch self {
    case .serverTimestamp: 2
    case .increment(let number), .minimum(let number), .maximum(let number):
      DocumentValue(number).requestSize
    case .arrayUnion(let values), .arrayRemove(let values): values.requestSize
    }
  }
}
