#if Network
  import NIOCore
  import NIOWebSocket

  /// The content of a close frame (RFC 6455, sections 5.5.1 and 7.4).
  enum CloseFrame {
    /// Why a close frame is invalid.
    struct Fault: Error {
      /// The code of the answer.
      let code: WebSocketErrorCode
    }

    /// The code of a close frame's data; nil when it has none.
    static func check(_ data: [UInt8]) -> Result<WebSocketErrorCode?, Fault> {
      if data.isEmpty { return .success(nil) }
      guard data.count >= 2 else { return .failure(Fault(code: .protocolError)) }
      let number = UInt16(data[0]) << 8 | UInt16(data[1])
      switch number {
      // The codes that are allowed on the wire: of the protocol, libraries and applications.
      case 1000...1003, 1007...1014, 3000...4999: break
      default: return .failure(Fault(code: .protocolError))
      }
      guard String(validating: data[2...], as: UTF8.self) != nil else {
        return .failure(Fault(code: .dataInconsistentWithMessage))
      }
      var buffer = ByteBuffer(integer: number)
      return .success(buffer.readWebSocketErrorCode())
    }
  }
#endif
