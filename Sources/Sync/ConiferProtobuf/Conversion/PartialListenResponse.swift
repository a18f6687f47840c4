#if GRPC
  /// Which document an answer on the stream of listens is of, and for which targets, read from bytes that are no message.
  struct PartialListenResponse {
    /// The document's whole name, as far as it is text.
    private(set) var document = ""
    private(set) var targets: [Int32] = []

    /// Where the numbers of fields are in what is said of documents.
    private struct Layout {
      let targets: Set<UInt64>
      /// Whether the name is within the document.
      let isNested: Bool
    }

    private static let layouts: [UInt64: Layout] = [
      3: Layout(targets: [5, 6], isNested: true), 4: Layout(targets: [6], isNested: false),
      6: Layout(targets: [2], isNested: false),
    ]

    /// An outline; nil when the answer is not of a document, or its fields do not follow one another.
    init?(_ bytes: [UInt8]) {
      var response = FieldReader(bytes[...])
      var isFound = false
      while let field = response.next() {
        guard let layout = Self.layouts[field.number], case .bytes(let bytes) = field.value else {
          continue
        }
        isFound = true
        var change = FieldReader(bytes)
        while let field = change.next() { take(field, layout) }
        guard change.isAtEnd else { return nil }
      }
      guard isFound, response.isAtEnd else { return nil }
    }

    private mutating func take(_ field: FieldReader.Field, _ layout: Layout) {
      switch field.value {
      case .bytes(let bytes) where field.number == 1:
        guard layout.isNested else {
          document = String(decoding: bytes, as: UTF8.self)
          return
        }
        var reader = FieldReader(bytes)
        while let field = reader.next() {
          guard field.number == 1, case .bytes(let name) = field.value else { continue }
          document = String(decoding: name, as: UTF8.self)
        }
      // Several in a row.
      case .bytes(let bytes) where layout.targets.contains(field.number):
        var reader = FieldReader(bytes)
        while let number = reader.varint() { targets.append(Int32(truncatingIfNeeded: number)) }
      case .varint(let number) where layout.targets.contains(field.number):
        targets.append(Int32(truncatingIfNeeded: number))
      case .bytes, .varint, .fixed: break
      }
    }
  }

  /// Reads the fields of a message without what is in them.
  private struct FieldReader {
    struct Field {
      enum Value {
        case varint(UInt64)
        case bytes(ArraySlice<UInt8>)
        case fixed
      }

      let number: UInt64
      let value: Value
    }

    private var rest: ArraySlice<UInt8>

    init(_ bytes: ArraySlice<UInt8>) { rest = bytes }

    var isAtEnd: Bool { rest.isEmpty }

    /// The next field; nil at the end, and where there is none.
    mutating func next() -> Field? {
      let before = rest
      guard let tag = varint(), let value = value(tag & 7) else {
        rest = before
        return nil
      }
      return Field(number: tag >> 3, value: value)
    }

    private mutating func value(_ kind: UInt64) -> Field.Value? {
      switch kind {
      case 0: varint().map { .varint($0) }
      case 1: take(8).map { _ in .fixed }
      case 2: varint().flatMap { Int(exactly: $0) }.flatMap { take($0) }.map { .bytes($0) }
      case 5: take(4).map { _ in .fixed }
      default: nil
      }
    }

    private mutating func take(_ count: Int) -> ArraySlice<UInt8>? {
      guard count <= rest.count else { return nil }
      defer { rest = rest.dropFirst(count) }
      return rest.prefix(count)
    }

    mutating func varint() -> UInt64? {
      var number: UInt64 = 0
      for shift in stride(from: UInt64(0), to: 70, by: 7) {
        guard let byte = rest.popFirst() else { return nil }
        number |= UInt64(byte & 0x7F) << shift
        if byte < 0x80 { return number }
      }
      return nil
    }
  }
#endif
