#if GRPC
  import ConiferProtobuf
  import GRPCCore
  import SwiftProtobuf

  /// Writes a message as bytes of protobuf.
  struct ProtobufSerializer<Message: SwiftProtobuf.Message>: MessageSerializer {
    func serialize<Bytes: GRPCContiguousBytes>(_ message: Message) throws -> Bytes {
      Bytes(try message.serializedBytes() as [UInt8])
    }
  }

  /// Reads a message from bytes of protobuf.
  struct ProtobufDeserializer<Message: SwiftProtobuf.Message>: MessageDeserializer {
    func deserialize<Bytes: GRPCContiguousBytes>(_ bytes: Bytes) throws -> Message {
      // A value within a value takes three levels. The library's limit of 100 has room for the twenty of the service, and what
      // it lets through can be stored.
      do {
        return try bytes.withUnsafeBytes { buffer in
          try Message(serializedBytes: Array(buffer), extensions: nil, partial: true)
        }
      } catch {
        throw ProtoError("\(error)")
      }
    }
  }
#endif
