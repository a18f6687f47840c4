#if Encryption
  import ConiferKeyValue
  import Crypto

  /// The form of every value below the layer: `form u8, session varint, counter varint, ciphertext,
  /// tag`.
  ///
  /// The nonce is the counter, which is never repeated in a session; no other session uses its key.
  enum SealedRecord {
    private static let form: UInt8 = 1
    static let tag = 16
    /// The overhead of a record in bytes, for a session below 2^14 and any counter.
    static let overhead = 24

    /// A record's head, not yet authenticated.
    struct Head {
      let session: UInt32
      let counter: UInt64
      /// Where the ciphertext begins.
      let end: Int
      /// How many bytes the value has.
      let size: Int

      /// The head of a stored value, or nil when the bytes are invalid.
      init?(_ value: RawSpan) {
        guard value.byteCount > SealedRecord.tag, value.byte(0) == SealedRecord.form else {
          return nil
        }
        var at = 1
        guard let session = value.varint(&at).flatMap({ UInt32(exactly: $0) }),
          let counter = value.varint(&at), value.byteCount - at >= SealedRecord.tag
        else { return nil }
        self.session = session
        self.counter = counter
        end = at
        size = value.byteCount - at - SealedRecord.tag
      }
    }

    /// Seals a value.
    ///
    /// - Parameter context: what the record is bound to.
    static func seal(
      _ value: Bytes, _ session: UInt32, _ counter: UInt64, _ key: SymmetricKey, _ context: Bytes
    ) throws(StoreError) -> Bytes {
      do {
        let box = try AES.GCM.seal(
          value, using: key, nonce: nonce(counter), authenticating: context)
        var record = Bytes()
        record.reserveCapacity(value.count + overhead)
        record.append(form)
        record.appendVarint(UInt64(session))
        record.appendVarint(counter)
        record.append(contentsOf: box.ciphertext)
        record.append(contentsOf: box.tag)
        return record
      } catch {
        throw StoreError(.io, "A record cannot be encrypted: try again.", cause: "\(error)")
      }
    }

    /// The value of a record, or nil when it was not sealed with this key for this context.
    static func open(
      _ value: RawSpan, _ head: Head, _ key: SymmetricKey, _ context: Bytes
    ) -> Bytes? {
      value.withUnsafeBytes { bytes in
        let body = UnsafeRawBufferPointer(rebasing: bytes[head.end..<(head.end + head.size)])
        let tag = UnsafeRawBufferPointer(rebasing: bytes[(head.end + head.size)...])
        guard
          let box = try? AES.GCM.SealedBox(
            nonce: nonce(head.counter), ciphertext: body, tag: tag),
          let plain = try? AES.GCM.open(box, using: key, authenticating: context)
        else { return nil }
        return Bytes(plain)
      }
    }

    private static func nonce(_ counter: UInt64) throws -> AES.GCM.Nonce {
      try AES.GCM.Nonce(
        data: [0, 0, 0, 0]
          + stride(from: 56, through: 0, by: -8).map {
            UInt8(truncatingIfNeeded: counter >> UInt64($0))
          })
    }
  }

  extension RawSpan {
    fileprivate func byte(_ at: Int) -> UInt8 {
      unsafeLoad(fromByteOffset: at, as: UInt8.self)
    }

    /// Reads a LEB128 number and advances past it; nil at the end and above 64 bits.
    fileprivate func varint(_ at: inout Int) -> UInt64? {
      var value: UInt64 = 0
      var shift: UInt64 = 0
      while at < byteCount, shift < 64 {
        let next = byte(at)
        at += 1
        guard shift < 63 || next < 2 else { return nil }
        value |= UInt64(next & 0x7F) << shift
        if next < 0x80 { return value }
        shift += 7
      }
      return nil
    }
  }

  extension Bytes {
    fileprivate mutating func appendVarint(_ value: UInt64) {
      var rest = value
      while rest >= 0x80 {
        append(UInt8(truncatingIfNeeded: rest) | 0x80)
        rest >>= 7
      }
      append(UInt8(truncatingIfNeeded: rest))
    }
  }
#endif
