#if GRPC
  // What SwiftProtobuf has bytes as.
  #if canImport(FoundationEssentials)
    package import FoundationEssentials
  #else
    package import Foundation
  #endif

  extension [UInt8] {
    /// The bytes of a message's field.
    package var data: Data { Data(self) }
  }
#endif
