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
  /// The run holds the leaves from this path key up to the next run's separator. When the run was last stored as a whole, it
  /// was a prefix of the first key that is above all keys before it; a tree's first run may have an empty one.
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
  /// The decoded run in memory, if there is one.
  package var cached = CachedRun.nothing

  /// The decoded run in memory, and how current it is.
  package enum CachedRun: Sendable {
    case nothing
    /// A run that was decoded from this record, with the deltas of that time; it may have others
    /// now.
    case record(DecodedRun)
    /// The current run, deltas included.
    case current(DecodedRun)

    package var run: DecodedRun? {
      switch self {
      case .nothing: nil
      case .record(let run), .current(let run): run
      }
    }
  }

  /// The number in a lent record, without a check; for a damaged record it may be any number, or
  /// nil.
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
    // This check comes after those for a run of a later version, which is not damaged and may
    // number runs differently.
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

  /// Whether the record is damaged, so that the head holds only what the key says.
  package var isDamaged: Bool { value.isEmpty }

  /// A head for a run whose record is damaged, from its key alone; it has no entries.
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
    // A body that was not packed is read in place.
    let isRaw = method == .raw && value.count - bodyStart == rawCount
    let bytes = isRaw ? value : try body(unpacking)
    let entries = bytes.withUnsafeBytes { bytes in
      RunBody.decode(
        UnsafeRawBufferPointer(rebasing: bytes[(isRaw ? bodyStart : 0)...]), count: count)
    }
    guard let entries else { throw Damage.error(Spaces.runs, storeKey) }
    return entries
  }

  /// Encoded and compressed entries whose key in the store is not known yet.
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
  /// - Parameter fullSeparator: its separator when the key is cut, otherwise empty.
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
