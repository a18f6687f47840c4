#if Network
  import NIOCore

  /// Parses a client's frames incrementally, so that no frame is kept whole (RFC 6455, section
  /// 5.2).
  struct FrameReader {
    enum Opcode: UInt8 {
      case continuation = 0
      case text = 1
      case binary = 2
      case close = 8
      case ping = 9
      case pong = 10

      var isControl: Bool { rawValue >= 8 }
    }

    /// A frame's header.
    struct Head {
      let opcode: Opcode
      /// Whether it is the last of its message.
      let isFinal: Bool
      let length: UInt64
      fileprivate let mask: UInt32
    }

    enum Part {
      case head(Head)
      /// Some of the frame's data, unmasked.
      case data(Head, [UInt8])
      case end(Head)
    }

    /// Why bytes are not a valid frame of a client.
    struct Failure: Error {
      let words: String
    }

    private enum State {
      case head
      case data(Head, done: UInt64)
      case failed
    }

    private var state = State.head
    /// Received bytes that were not parsed yet; of an incomplete header less than 14 bytes.
    private var buffer = ByteBuffer()

    /// Whether a frame has begun and not ended.
    var isWithinFrame: Bool {
      switch state {
      case .head: buffer.readableBytes > 0
      case .data: true
      case .failed: false
      }
    }

    /// Adds received bytes.
    mutating func append(_ bytes: ByteBuffer) {
      if case .failed = state { return }
      if buffer.readableBytes == 0 {
        buffer = bytes
      } else {
        buffer.writeImmutableBuffer(bytes)
      }
    }

    /// The next part of the received bytes; nil when more bytes are needed.
    ///
    /// - Throws: when the frame is invalid; nothing can follow.
    mutating func next() throws(Failure) -> Part? {
      switch state {
      case .failed: return nil
      case .head:
        do throws(Failure) {
          guard let head = try readHead() else {
            // The few bytes of a header are copied, so that they do not keep their buffer in
            // memory.
            buffer = ByteBuffer(bytes: buffer.readableBytesView)
            return nil
          }
          state = .data(head, done: 0)
          return .head(head)
        } catch {
          state = .failed
          buffer = ByteBuffer()
          throw error
        }
      case .data(let head, let done):
        if done == head.length {
          state = .head
          return .end(head)
        }
        let count = Int(min(UInt64(buffer.readableBytes), head.length - done))
        guard count > 0, var bytes = buffer.readBytes(length: count) else {
          // Nothing is left in it.
          buffer = ByteBuffer()
          return nil
        }
        Self.unmask(&bytes, head.mask, Int(truncatingIfNeeded: done))
        state = .data(head, done: done + UInt64(count))
        return .data(head, bytes)
      }
    }

    private mutating func readHead() throws(Failure) -> Head? {
      let start = buffer.readerIndex
      guard let first: UInt8 = buffer.getInteger(at: start),
        let second: UInt8 = buffer.getInteger(at: start + 1)
      else { return nil }
      guard first & 0x70 == 0 else { throw Failure(words: "No extension was agreed on.") }
      guard let opcode = Opcode(rawValue: first & 0x0F) else {
        throw Failure(words: "The kind of frame is unknown.")
      }
      guard second & 0x80 != 0 else { throw Failure(words: "A client must mask its frames.") }
      let isFinal = first & 0x80 != 0
      let short = UInt64(second & 0x7F)
      if opcode.isControl, !isFinal || short > 125 {
        throw Failure(words: "A control frame is invalid.")
      }
      var place = start + 2
      var length = short
      if short == 126 {
        guard let long: UInt16 = buffer.getInteger(at: place) else { return nil }
        (length, place) = (UInt64(long), place + 2)
      } else if short == 127 {
        guard let long: UInt64 = buffer.getInteger(at: place) else { return nil }
        (length, place) = (long, place + 8)
      }
      guard let mask: UInt32 = buffer.getInteger(at: place) else { return nil }
      buffer.moveReaderIndex(to: place + 4)
      return Head(opcode: opcode, isFinal: isFinal, length: length, mask: mask)
    }

    /// - Parameter offset: the number of the frame's data bytes before these.
    private static func unmask(_ bytes: inout [UInt8], _ mask: UInt32, _ offset: Int) {
      // The mask rotated to the first byte, in memory order.
      let turned =
        (mask << (8 * UInt32(offset & 3))) | (mask >> ((32 - 8 * UInt32(offset & 3)) & 31))
      let key = turned.bigEndian
      bytes.withUnsafeMutableBytes { bytes in
        var index = 0
        while index + 4 <= bytes.count {
          let word = bytes.loadUnaligned(fromByteOffset: index, as: UInt32.self)
          bytes.storeBytes(of: word ^ key, toByteOffset: index, as: UInt32.self)
          index += 4
        }
        while index < bytes.count {
          bytes[index] ^= UInt8(truncatingIfNeeded: turned >> (8 * UInt32(3 - index & 3)))
          index += 1
        }
      }
    }
  }
#endif
