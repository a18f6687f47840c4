#if GRPC
  import ConiferProtobuf
  import GRPCCore
  import SwiftProtobuf

  /// What a server sent as one message.
  struct ReceivedMessage<Message: SwiftProtobuf.Message>: Sendable {
    /// Bytes that are no message of this kind, and why.
    struct Unreadable: Error {
      let bytes: [UInt8]
      let error: ProtoError
    }

    let content: Result<Message, Unreadable>
    /// How many bytes it took.
    let size: Int

    /// The message.
    ///
    /// - Throws: when the bytes are none.
    var message: Message {
      get throws(ProtoError) {
        switch content {
        case .success(let message): return message
        case .failure(let unreadable): throw unreadable.error
        }
      }
    }
  }

  /// Reads a message from bytes of protobuf. What is none is told with the message, as an error here would end the call.
  struct ReceivedMessageDeserializer<Message: SwiftProtobuf.Message>: MessageDeserializer {
    func deserialize<Bytes: GRPCContiguousBytes>(
      _ bytes: Bytes
    ) throws -> ReceivedMessage<Message> {
      let size = bytes.withUnsafeBytes { $0.count }
      do {
        let message = try ProtobufDeserializer<Message>().deserialize(bytes)
        return ReceivedMessage(content: .success(message), size: size)
      } catch {
        let unreadable = ReceivedMessage<Message>.Unreadable(
          bytes: bytes.withUnsafeBytes { Array($0) },
          error: error as? ProtoError ?? ProtoError("\(error)"))
        return ReceivedMessage(content: .failure(unreadable), size: size)
      }
    }
  }
#endif
