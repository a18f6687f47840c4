#if GRPC
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
      // A value within a value takes three levels, and documents have twenty.
      var options = BinaryDecodingOptions()
      options.messageDepthLimit = 200
      return try bytes.withUnsafeBytes { buffer in
        try Message(
          serializedBytes: Array(buffer), extensions: nil, partial: true, options: options)
      }
    }
  }
#endif
