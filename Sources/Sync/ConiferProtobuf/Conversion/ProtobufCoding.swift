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
    private let limit: Int

    /// - Parameter limit: the bytes that a message may have; more are refused as `resourceExhausted`.
    package init(atMost limit: Int = .max) { self.limit = limit }

    package func deserialize<Bytes: GRPCContiguousBytes>(_ bytes: Bytes) throws -> Message {
      // A value within a value takes three levels. The library's limit of 100 has room for the twenty of the service, and what
      // it lets through can be stored.
      do {
        return try bytes.withUnsafeBytes { buffer in
          guard buffer.count <= limit else {
            throw RPCError(
              code: .resourceExhausted,
              message: "The message has \(buffer.count) bytes; \(limit) are allowed. Split it.")
          }
          return try Message(serializedBytes: Array(buffer), extensions: nil, partial: true)
        }
      } catch let error as RPCError { throw error } catch {
        throw ProtoError("\(error)")
      }
    }
  }
#endif
