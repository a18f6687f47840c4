#if GRPC
  import ConiferProtobuf
  import Foundation
  import SwiftProtobuf

  /// What servers of tests say, in a database `test`.
  enum Answers {
    static let root = "projects/test/databases/(default)/documents"

    static func time(_ seconds: Int64) -> Google_Protobuf_Timestamp {
      Google_Protobuf_Timestamp(seconds: seconds, nanos: 0)
    }

    static func target(
      _ type: ProtoTargetChange.TargetChangeType, _ ids: [Int32] = [], token: String = "",
      at seconds: Int64? = nil, cause: ProtoStatus? = nil
    ) -> ProtoListenResponse {
      .with {
        $0.targetChange.targetChangeType = type
        $0.targetChange.targetIds = ids
        $0.targetChange.resumeToken = .init(token.utf8)
        if let seconds { $0.targetChange.readTime = time(seconds) }
        if let cause { $0.targetChange.cause = cause }
      }
    }

    static func document(
      _ path: String, _ n: Int64, at seconds: Int64, matching ids: [Int32], leaving: [Int32] = []
    ) -> ProtoListenResponse {
      .with {
        $0.documentChange.document.name = "\(root)/\(path)"
        $0.documentChange.document.fields = [
          .with {
            $0.key = "n"
            $0.value.integerValue = n
          }
        ]
        $0.documentChange.document.createTime = time(1)
        $0.documentChange.document.updateTime = time(seconds)
        $0.documentChange.targetIds = ids
        $0.documentChange.removedTargetIds = leaving
      }
    }

    static func filter(_ id: Int32, count: Int32) -> ProtoListenResponse {
      .with {
        $0.filter.targetID = id
        $0.filter.count = count
      }
    }
  }

  extension ScriptedCall {
    /// Answers the addition of a target with documents, and completes a moment.
    func serve(
      _ id: Int32, _ documents: [(path: String, n: Int64)], token: String, at seconds: Int64
    ) throws {
      try send(Answers.target(.add, [id]))
      for (path, n) in documents {
        try send(Answers.document(path, n, at: seconds, matching: [id]))
      }
      try send(Answers.target(.current, [id], token: token))
      try send(Answers.target(.noChange, token: token, at: seconds))
    }
  }
#endif
