package import ConiferKeyValue
import Synchronization

#if Zstd
  internal import CZstd
#endif

/// Compresses and decompresses record bodies; safe on any thread.
///
/// Frames are magicless zstd without checksum and size: the record around them has both.
package final class Codec: Sendable {
  /// Whether the package was built with zstd.
  package static var hasZstd: Bool {
    #if Zstd
      true
    #else
      false
    #endif
  }

  /// The version of the zstd that is linked; nil without it.
  package static var zstdVersion: String? {
    #if Zstd
      ZSTD_versionString().map { String(cString: $0) }
    #else
      nil
    #endif
  }

  /// How a body is stored; numbers are part of the format.
  package enum Method: UInt8, Sendable {
    case raw = 0
    case zstd = 1
    /// With a dictionary, whose number stands in the record.
    case zstdDictionary = 2
  }

  /// The effort of compression.
  package enum Effort: Sendable {
    /// For commits, which a caller waits for: zstd's level 1. Docs/Decisions/0015 says why.
    case quick
    /// For housekeeping, which nobody waits for: the configured level.
    case thorough
  }

  /// The largest body that is ever packed: a run of one lone leaf, with room to spare.
  package static let largestBody = 64 << 20

  /// The method with a stored number.
  ///
  /// - Throws: `unsupported` for a method of a later version: a record that is intact but cannot be
  ///   read is not damaged, and must not be set aside.
  package static func method(_ number: UInt8) throws(StoreError) -> Method {
    guard let method = Method(rawValue: number) else {
      throw StoreError(
        .unsupported,
        "A record was packed in a way this version does not know: use a newer Conifer.")
    }
    return method
  }

  /// The level of zstd at which housekeeping packs new bodies; nil packs nothing.
  package let level: Int?
  #if Zstd
    private let compressors: Mutex<[Context]> = Mutex([])
    private let decompressors: Mutex<[Context]> = Mutex([])
  #endif

  /// - Parameter level: of zstd, at which housekeeping packs new bodies; nil packs nothing.
  package init(level: Int?) { self.level = level }

  /// The smaller of a body and its compressed form; raw when under 12 % would be saved.
  ///
  /// - Parameter dictionary: one of the tree that the body belongs to.
  package func pack(
    _ body: Bytes, _ dictionary: TreeDictionary? = nil, _ effort: Effort = .quick
  ) -> (Method, Bytes) {
    #if Zstd
      guard let level, body.count >= (dictionary == nil ? 64 : 16),
        let packed = compress(body, effort == .quick ? min(level, 1) : level, dictionary),
        packed.count * 100 <= body.count * 88
      else { return (.raw, body) }
      return (dictionary == nil ? .zstd : .zstdDictionary, packed)
    #else
      return (.raw, body)
    #endif
  }

  /// The body that was packed, or nil when the bytes are not what `pack` made.
  ///
  /// - Parameter dictionary: the one that the record names, if it names one.
  /// - Throws: `unsupported` when the body needs a codec that was not built in.
  package func unpack(
    _ method: Method, _ packed: Bytes, rawCount: Int, _ dictionary: TreeDictionary? = nil
  ) throws(StoreError) -> Bytes? {
    switch method {
    case .raw:
      return packed.count == rawCount ? packed : nil
    case .zstd, .zstdDictionary:
      // Queued writes and chunks of leaves name no dictionary; a later version may add that.
      guard (method == .zstdDictionary) == (dictionary != nil) else {
        throw StoreError(
          .unsupported,
          "A record was packed in a way this version does not know: use a newer Conifer.")
      }
      #if Zstd
        // No written record is larger. A greater length is damage, and must not be allocated.
        guard rawCount <= Self.largestBody else { return nil }
        return decompress(packed, rawCount, dictionary)
      #else
        throw StoreError(
          .unsupported,
          "This store holds zstd records: build Conifer with the trait Zstd to read it.")
      #endif
    }
  }
}

/// How new bodies of one tree are packed: the codec, the tree's newest dictionary, and how hard.
package struct Packing {
  package let codec: Codec
  package let dictionary: TreeDictionary?
  package let effort: Codec.Effort

  package init(
    _ codec: Codec, _ dictionary: TreeDictionary? = nil, _ effort: Codec.Effort = .quick
  ) {
    self.codec = codec
    self.effort = effort
    self.dictionary = dictionary
  }

  /// Packing with a tree's newest dictionary and the commit's effort.
  ///
  /// A dictionary that cannot be read is not used; reading a record that names it reports the
  /// damage.
  package init(_ tx: LeafTransaction, _ tree: TreeID) throws(StoreError) {
    codec = tx.leaves.codec
    effort = tx.sizing.effort
    let number = try tx.usage(tree).newestDictionary
    guard number != 0, codec.level != nil else {
      dictionary = nil
      return
    }
    do throws(StoreError) {
      dictionary = try Unpacking(view: tx, tree: tree).dictionary(number)
    } catch {
      guard [.damaged, .unsupported].contains(error.code) else { throw error }
      dictionary = nil
    }
  }

  /// The smaller of a body and its packed form, and the number of the dictionary that it needs.
  package func pack(_ body: Bytes) -> (method: Codec.Method, dictionary: UInt32, body: Bytes) {
    let (method, packed) = codec.pack(body, dictionary, effort)
    return (method, method == .zstdDictionary ? dictionary?.number ?? 0 : 0, packed)
  }
}

/// How bodies of one tree's records are unpacked: with the codec, and the dictionaries of a view.
package struct Unpacking {
  package let view: any LeafView
  package let tree: TreeID

  package init(view: any LeafView, tree: TreeID) {
    self.view = view
    self.tree = tree
  }

  /// A dictionary by its number.
  ///
  /// - Throws: `damaged`, naming the dictionary, also when it is missing; `unsupported`.
  package func dictionary(_ number: UInt32) throws(StoreError) -> TreeDictionary {
    if let known = view.leaves.dictionaries.find(tree, number) { return known }
    let key = DictionaryRecord.key(tree, number)
    let record = try DictionaryRecord(key: key, value: view.value(Spaces.dictionaries, key))
    let dictionary = TreeDictionary(number: number, ratio: record.ratio, record.content)
    view.leaves.dictionaries.add(tree, dictionary)
    return dictionary
  }

  /// The body that was packed, or nil when the bytes are not one.
  ///
  /// - Parameter dictionary: the number that the record names, 0 for none.
  /// - Throws: `damaged` for the dictionary, `unsupported`.
  package func unpack(
    _ method: Codec.Method, _ dictionary: UInt32, _ packed: Bytes, rawCount: Int
  ) throws(StoreError) -> Bytes? {
    guard dictionary != 0 else {
      return try view.leaves.codec.unpack(method, packed, rawCount: rawCount)
    }
    return try view.leaves.codec.unpack(
      method, packed, rawCount: rawCount, try self.dictionary(dictionary))
  }
}

#if Zstd
  /// A zstd context, used by one thread at a time: it is taken out of its pool before use.
  private final class Context: @unchecked Sendable {
    let pointer: OpaquePointer
    let free: (OpaquePointer) -> Void

    init(_ pointer: OpaquePointer, free: @escaping (OpaquePointer) -> Void) {
      self.pointer = pointer
      self.free = free
    }

    deinit { free(pointer) }
  }

  extension Codec {
    private func compress(
      _ body: Bytes, _ level: Int, _ dictionary: TreeDictionary?
    ) -> Bytes? {
      guard let context = compressors.withLock({ $0.popLast() }) ?? Self.compressor() else {
        return nil
      }
      defer { compressors.withLock { $0.append(context) } }
      // zstd refers to the tables until the next call sets others.
      defer { withExtendedLifetime(dictionary) {} }
      let tables = dictionary?.compression(level)
      guard dictionary == nil || tables != nil else { return nil }
      ZSTD_CCtx_setParameter(context.pointer, ZSTD_c_compressionLevel, Int32(level))
      ZSTD_CCtx_refCDict(context.pointer, tables)
      let bound = ZSTD_compressBound(body.count)
      let packed = Bytes(unsafeUninitializedCapacity: bound) { buffer, count in
        let written = body.withUnsafeBytes { source in
          ZSTD_compress2(
            context.pointer, buffer.baseAddress, buffer.count, source.baseAddress, source.count)
        }
        count = ZSTD_isError(written) == 0 ? written : 0
      }
      return packed.isEmpty ? nil : packed
    }

    private func decompress(
      _ packed: Bytes, _ rawCount: Int, _ dictionary: TreeDictionary?
    ) -> Bytes? {
      guard let context = decompressors.withLock({ $0.popLast() }) ?? Self.decompressor() else {
        return nil
      }
      defer { decompressors.withLock { $0.append(context) } }
      defer { withExtendedLifetime(dictionary) {} }
      let tables = dictionary?.decompression
      guard dictionary == nil || tables != nil else { return nil }
      ZSTD_DCtx_refDDict(context.pointer, tables)
      var isWhole = false
      let body = Bytes(unsafeUninitializedCapacity: rawCount) { buffer, count in
        let written = packed.withUnsafeBytes { source in
          ZSTD_decompressDCtx(
            context.pointer, buffer.baseAddress, buffer.count, source.baseAddress, source.count)
        }
        isWhole = ZSTD_isError(written) == 0 && written == rawCount
        count = isWhole ? rawCount : 0
      }
      return isWhole ? body : nil
    }

    private static func compressor() -> Context? {
      guard let pointer = ZSTD_createCCtx() else { return nil }
      let magicless = Int32(ZSTD_f_zstd1_magicless.rawValue)
      // ZSTD_c_format is a macro for this parameter.
      ZSTD_CCtx_setParameter(pointer, ZSTD_c_experimentalParam2, magicless)
      ZSTD_CCtx_setParameter(pointer, ZSTD_c_contentSizeFlag, 0)
      ZSTD_CCtx_setParameter(pointer, ZSTD_c_dictIDFlag, 0)
      // ZSTD_c_forceAttachDict: a dictionary's tables are used in place, not copied for each body.
      ZSTD_CCtx_setParameter(
        pointer, ZSTD_c_experimentalParam4, Int32(ZSTD_dictForceAttach.rawValue))
      return Context(pointer) { ZSTD_freeCCtx($0) }
    }

    private static func decompressor() -> Context? {
      guard let pointer = ZSTD_createDCtx() else { return nil }
      // ZSTD_d_format is a macro for this parameter.
      ZSTD_DCtx_setParameter(
        pointer, ZSTD_d_experimentalParam1, Int32(ZSTD_f_zstd1_magicless.rawValue))
      return Context(pointer) { ZSTD_freeDCtx($0) }
    }
  }
#endif
