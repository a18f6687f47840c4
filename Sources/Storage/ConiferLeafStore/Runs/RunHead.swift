package import ConiferKeyValue

/// The beginning of a run's record: what is known of it without decoding its entries.
///
/// Payload: method, flags, dictionary (0 for none), bytes of the body before compression, entries,
/// the run's number, how many leading key bytes all entries share, the separator when the store's
/// key is a cut one, then the body.
package struct RunHead: Sendable {
  /// Set when some entry's value is a large leaf, stored in chunks.
  package static let hasLargeLeaves: UInt8 = 1

  /// The key in the store, with the tree.
  package let storeKey: Bytes
  /// The run holds the leaves from this path key up to the next run's separator. When the run was split off, it was
  /// the shortest prefix of its first key that is above all keys before it; a tree's first run may have an empty one.
  package let separator: Bytes
  package let isCut: Bool
  package let number: UInt64
  package let count: Int
  package let rawCount: Int
  package let flags: UInt8
  package let shared: Int
  package let method: Codec.Method
  /// The number of the dictionary that the body is packed with, 0 for none.
  package let dictionary: UInt32
  /// The sealed value, and where the packed body begins in it.
  package let value: Bytes
  package let bodyStart: Int
  /// What memory has of the run.
  package var kept = Kept.nothing

  /// What memory has of a run decoded.
  package enum Kept: Sendable {
    case nothing
    /// Decoded from this very record, with the deltas of that time: there may be others now.
    case record(DecodedRun)
    /// As it is now, deltas included.
    case current(DecodedRun)

    package var run: DecodedRun? {
      switch self {
      case .nothing: nil
      case .record(let run), .current(let run): run
      }
    }
  }

  /// The number in a lent record, unchecked: of a damaged one it is any number, or nil.
  package static func number(_ value: RawSpan) -> UInt64? {
    value.withUnsafeBytes { bytes in
      var reader = LentReader(bytes)
      // Checksum, method, flags; dictionary, bytes and entries of the body.
      guard reader.take(Record.overhead + 2) != nil, reader.takeVarints(3) != nil else {
        return nil
      }
      return reader.varint()
    }
  }

  /// Reads a run's head and checks its checksum.
  ///
  /// - Throws: `damaged`, `unsupported`.
  package init(storeKey: Bytes, value: Bytes) throws(StoreError) {
    let isIntact = Record.isIntact(Spaces.runs, storeKey, value)
    var reader = ByteReader(value, from: Record.overhead)
    guard isIntact, let method = reader.byte(), let flags = reader.byte(),
      let dictionary = reader.varint(), let rawCount = reader.size(), let count = reader.size(),
      let number = reader.varint(), let shared = reader.size(), let separator = reader.sized()
    else { throw Damage.error(Spaces.runs, storeKey) }
    let known = try Codec.method(method)
    guard let dictionary = UInt32(exactly: dictionary),
      (known == .zstdDictionary) == (dictionary != 0), flags & ~Self.hasLargeLeaves == 0
    else {
      throw StoreError(
        .unsupported, "A run was packed in a way this version does not know: use a newer Conifer.")
    }
    // After what tells a later version's run, which is not damaged and may be numbered otherwise.
    guard (1...Numbers.lastRun).contains(number) else { throw Damage.error(Spaces.runs, storeKey) }
    self.storeKey = storeKey
    self.isCut = !separator.isEmpty
    self.separator = separator.isEmpty ? Bytes(storeKey.dropFirst(4)) : separator
    self.number = number
    self.count = count
    self.rawCount = rawCount
    self.flags = flags
    self.shared = shared
    self.method = known
    self.dictionary = dictionary
    self.value = value
    self.bodyStart = reader.at
  }

  /// Whether this is what the key alone tells of a damaged record.
  package var isDamaged: Bool { value.isEmpty }

  /// What the key alone tells of a run whose record is damaged; it holds no entries to read.
  package init(damaged storeKey: Bytes) {
    self.storeKey = storeKey
    separator = Bytes(storeKey.dropFirst(4))
    isCut = false
    number = 0
    count = 0
    rawCount = 0
    flags = 0
    shared = 0
    method = .raw
    dictionary = 0
    value = []
    bodyStart = 0
  }

  /// The body before it was packed.
  ///
  /// - Throws: `damaged`, `unsupported`.
  package func body(_ unpacking: Unpacking) throws(StoreError) -> Bytes {
    let packed = Bytes(value.dropFirst(bodyStart))
    guard !value.isEmpty,
      let body = try unpacking.unpack(method, dictionary, packed, rawCount: rawCount)
    else { throw Damage.error(Spaces.runs, storeKey) }
    return body
  }

  /// The entries of the body.
  ///
  /// - Throws: `damaged`, `unsupported`.
  package func entries(_ unpacking: Unpacking) throws(StoreError) -> EntryList {
    // What was not packed is read where it is.
    let isRaw = method == .raw && value.count - bodyStart == rawCount
    let bytes = isRaw ? value : try body(unpacking)
    let entries = bytes.withUnsafeBytes { bytes in
      RunBody.decode(
        UnsafeRawBufferPointer(rebasing: bytes[(isRaw ? bodyStart : 0)...]), count: count)
    }
    guard let entries else { throw Damage.error(Spaces.runs, storeKey) }
    return entries
  }

  /// Entries encoded and compressed, before it is known under which key they will be stored.
  package struct Packed {
    package let range: Range<Int>
    package let rawCount: Int
    package let method: Codec.Method
    package let dictionary: UInt32
    package let flags: UInt8
    package let shared: Int
    package let body: Bytes

    /// About how large the sealed value will be.
    package var storedSize: Int { body.count + 24 }

    package init(_ entries: EntryList, _ range: Range<Int>, _ packing: Packing) {
      let (raw, hasLargeLeaves) = RunBody.encode(entries, range)
      self.range = range
      rawCount = raw.count
      (method, dictionary, body) = packing.pack(raw)
      flags = hasLargeLeaves ? RunHead.hasLargeLeaves : 0
      shared = RunBody.shared(entries, range)
    }
  }

  /// The head of a run that is to be stored, with its sealed value.
  ///
  /// - Parameter fullSeparator: its separator when the key is a cut one, else empty.
  package init(storeKey: Bytes, fullSeparator: Bytes, number: UInt64, _ packed: Packed) {
    var writer = ByteWriter()
    writer.byte(packed.method.rawValue)
    writer.byte(packed.flags)
    writer.varint(UInt64(packed.dictionary))
    writer.varint(packed.rawCount)
    writer.varint(packed.range.count)
    writer.varint(number)
    writer.varint(packed.shared)
    writer.sized(fullSeparator)
    bodyStart = Record.overhead + writer.count
    value = Record.seal(Spaces.runs, storeKey, writer.bytes, packed.body)
    self.storeKey = storeKey
    isCut = !fullSeparator.isEmpty
    separator = isCut ? fullSeparator : Bytes(storeKey.dropFirst(4))
    self.number = number
    count = packed.range.count
    rawCount = packed.rawCount
    flags = packed.flags
    shared = packed.shared
    method = packed.method
    dictionary = packed.dictionary
  }
}
