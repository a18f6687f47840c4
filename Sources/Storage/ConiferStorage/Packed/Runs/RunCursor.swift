import ConiferKeyValue
import ConiferTree

/// Reads the entries of a run's body in order, without keeping them.
///
/// It points into lent bytes, and lives no longer than the closure that lends them.
struct RunCursor {
  let count: Int
  private var index = 0
  /// Where the current key is put together.
  private let keyBytes: UnsafeMutableRawBufferPointer
  private var lengths: LentReader
  private var suffixes: LentReader
  private var tags: LentReader
  fileprivate var numbers: LentReader
  fileprivate var textLengths: LentReader
  fileprivate var texts: LentReader

  /// How many bytes the current key shares with the one before.
  private(set) var shared = 0
  /// The path key of the current entry, until the next step.
  private(set) var key: UnsafeRawBufferPointer
  /// Whether the body turned out not to be one.
  private(set) var isDamaged = false

  /// A cursor before the first entry, or nil when the bytes are no body.
  ///
  /// - Parameter keyBytes: room for the longest key, for which the body's size is enough.
  init?(
    _ body: UnsafeRawBufferPointer, count: Int, keyBytes: UnsafeMutableRawBufferPointer
  ) {
    var reader = LentReader(body)
    guard let a = reader.size(), let b = reader.size(), let c = reader.size(),
      let d = reader.size(), let e = reader.size(), let lengths = reader.take(a),
      let suffixes = reader.take(b), let tags = reader.take(c), let numbers = reader.take(d),
      let textLengths = reader.take(e), let texts = reader.take(reader.remaining)
    else { return nil }
    self.count = count
    self.keyBytes = keyBytes
    self.key = UnsafeRawBufferPointer(rebasing: keyBytes[..<0])
    self.lengths = LentReader(lengths)
    self.suffixes = LentReader(suffixes)
    self.tags = LentReader(tags)
    self.numbers = LentReader(numbers)
    self.textLengths = LentReader(textLengths)
    self.texts = LentReader(texts)
  }

  /// Steps to the next entry; false at the end, or when the body is damaged.
  ///
  /// The entry's value must be read or skipped, once, before the next step.
  mutating func next() -> Bool {
    guard index < count, !isDamaged else { return false }
    index += 1
    guard let shared = lengths.size(), let added = lengths.size(), shared <= key.count,
      let suffix = suffixes.take(added), ascends(shared, suffix),
      shared + added <= keyBytes.count
    else {
      isDamaged = true
      return false
    }
    UnsafeMutableRawBufferPointer(rebasing: keyBytes[shared...]).copyMemory(from: suffix)
    self.shared = shared
    key = UnsafeRawBufferPointer(rebasing: keyBytes[..<(shared + added)])
    return true
  }

  /// How many bytes all keys have together, or nil when the body is damaged.
  func sizeOfKeys() -> Int? {
    var lengths = lengths
    var size = 0
    for _ in 0..<count {
      guard let shared = lengths.size(), let added = lengths.size() else { return nil }
      size += shared + added
    }
    return size
  }

  /// Steps to the first entry at or after a key; compares the entry's key with it, nil at the end.
  mutating func find(_ sought: UnsafeRawBufferPointer) -> Int? {
    while next() {
      let order = compareBytes(key, sought)
      if order >= 0 { return order }
      skip()
    }
    return nil
  }

  /// Whether the next key comes after the current one; the first differing byte tells.
  private func ascends(_ shared: Int, _ suffix: UnsafeRawBufferPointer) -> Bool {
    guard let first = suffix.first else { return index == 1 }
    return shared == key.count || key[shared] < first
  }

  /// The current entry's value when it is a leaf without a priority, as most are; nil when it is
  /// something else, to be read by `leaf`, or damaged.
  @inline(__always)
  mutating func plainLeaf() -> Leaf? {
    guard let tag = tags.next, tag < LeafCodec.Tag.external else { return nil }
    tags.skip()
    guard let leaf = leaf(tag) else { return damaged() }
    return leaf
  }

  /// The current entry's value as a leaf, or nil when it is damaged.
  mutating func leaf() -> LeafCodec.Decoded? {
    guard !isDamaged else { return nil }
    guard let tag = tags.byte() else { return damaged() }
    let plain = tag & ~LeafCodec.Tag.priorityFlag
    var decoded: LeafCodec.Decoded
    if plain == LeafCodec.Tag.external {
      guard let number = numbers.varint(), let size = numbers.size() else { return damaged() }
      decoded = .external(number: number, count: size, nil)
    } else {
      guard let value = leaf(plain) else { return damaged() }
      decoded = .leaf(value, nil)
    }
    guard tag != plain else { return decoded }
    guard let tag = tags.byte(), let leaf = leaf(tag), let priority = Priority(leaf) else {
      return damaged()
    }
    switch decoded {
    case .leaf(let value, _): decoded = .leaf(value, priority)
    case .external(let number, let size, _):
      decoded = .external(number: number, count: size, priority)
    }
    return decoded
  }

  /// Steps over the current entry's value.
  mutating func skip() {
    eachPart { _, _, _ in }
  }

  /// Appends the current entry's value as `LeafCodec` writes it; false when it is damaged.
  mutating func copyValue(to writer: inout LentWriter) -> Bool {
    eachPart { tag, number, text in
      writer.byte(tag)
      writer.append(number)
      let kind = tag & ~LeafCodec.Tag.priorityFlag
      if kind == LeafCodec.Tag.string || kind == LeafCodec.Tag.otherPlaceholder {
        writer.varint(text.count)
        writer.append(text)
      }
    }
    return !isDamaged
  }

  /// Visits the tag, the bytes of numbers and the text of the current value, then of its priority.
  @inline(__always)
  private mutating func eachPart(
    _ visit: (UInt8, UnsafeRawBufferPointer, UnsafeRawBufferPointer) -> Void
  ) {
    let none = UnsafeRawBufferPointer(start: nil, count: 0)
    var more = true
    while more {
      guard let tag = tags.byte() else { return isDamaged = true }
      more = tag & LeafCodec.Tag.priorityFlag != 0
      var number: UnsafeRawBufferPointer? = none
      var utf8: UnsafeRawBufferPointer? = none
      switch tag & ~LeafCodec.Tag.priorityFlag {
      case LeafCodec.Tag.string, LeafCodec.Tag.otherPlaceholder:
        utf8 = textLengths.size().flatMap { texts.take($0) }
      case LeafCodec.Tag.double, LeafCodec.Tag.incrementDouble: number = numbers.take(8)
      case LeafCodec.Tag.integer, LeafCodec.Tag.incrementInteger:
        number = numbers.takeVarints(1)
      case LeafCodec.Tag.external: number = numbers.takeVarints(2)
      default: break
      }
      guard let number, let utf8 else { return isDamaged = true }
      visit(tag, number, utf8)
    }
  }

  private mutating func damaged<T>() -> T? {
    isDamaged = true
    return nil
  }
}

extension RunCursor: LeafSource {
  mutating func zigzag() -> Int64? { numbers.zigzag() }

  mutating func double() -> Double? { numbers.double() }

  mutating func text() -> String? {
    guard let count = textLengths.size(), let utf8 = texts.take(count) else { return nil }
    return String(decoding: utf8, as: UTF8.self)
  }
}
