#if GRPC
  import NIOCore

  /// Where messages of gRPC begin and end in the bytes of a stream: five bytes before each message tell its length.
  struct MessageFraming {
    /// What some bytes are.
    enum Part: Equatable {
      /// So many bytes of a message, which is not whole with them.
      case some(Int)
      /// The last bytes of a message.
      case last(Int)
      /// A message begins that has more bytes than are allowed.
      case tooLarge(Int)
    }

    /// The bytes before each message, which tell its length.
    static let prefixCount = 5

    private let most: Int
    private var prefix: [UInt8] = []
    /// The bytes that are missing from the message.
    private var missing = 0

    /// Whether the next byte is the first of a message.
    var isBetween: Bool { missing == 0 && prefix.isEmpty }

    /// - Parameter most: the bytes that a message may have.
    init(atMost most: Int) { self.most = most }

    /// The next part of the bytes; nil when there are none left.
    mutating func next(_ bytes: inout ByteBuffer) -> Part? {
      guard bytes.readableBytes > 0 else { return nil }
      var count = 0
      if missing == 0 {
        let part =
          bytes.readBytes(length: min(Self.prefixCount - prefix.count, bytes.readableBytes)) ?? []
        prefix += part
        count = part.count
        guard prefix.count == Self.prefixCount else { return .some(count) }
        missing = prefix.dropFirst().reduce(0) { $0 << 8 | Int($1) }
        prefix = []
        if missing > most { return .tooLarge(missing) }
      }
      let length = min(missing, bytes.readableBytes)
      bytes.moveReaderIndex(forwardBy: length)
      missing -= length
      return missing == 0 ? .last(count + length) : .some(count + length)
    }
  }
#endif
