#if GRPC
  package import GRPCCore
  package import SwiftProtobuf

  /// Writes a message as bytes of protobuf.
  package struct ProtobufSerializer<Message: SwiftProtobuf.Message>: MessageSerializer {
    package init() {}

    package func serialize<Bytes: GRPCContiguousBytes>(_ message: Message) throws -> Bytes {
      Bytes(try message.serializedBytes() as [UInt8])
    }
  }

  /// Reads a message from bytes of protobuf.
  package struct ProtobufDeserializer<Message: SwiftProtobuf.Message>: MessageDeserializer {
    package init() {}

    package func deserialize<Bytes: GRPCContiguousBytes>(_ bytes: Bytes) throws -> Message {
      // A value within a value takes three levels. The library's limit of 100 has room for the twenty of the service, and what
      // it lets through can be stored.
      do {
        return try bytes.withUnsafeBytes { buffer in
          try Message(serializedBytes: Array(buffer), extensions: nil, partial: true)
        }
      } catch { throw ProtoError("\(error)") }
    }
  }
#endif
