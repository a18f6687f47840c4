#if GRPC
  import ConiferDocument
  import ConiferProtobuf
  import ConiferWire
  import SwiftProtobuf

  /// A client's end of a stream of listens.
  final class GRPCWatchStream: WatchStream {
    /// What the server says, and the moment that it completes.
    typealias Answer = (change: WatchChange, version: Timestamp?)
    typealias Call = GRPCCall<ProtoListenRequest, ProtoListenResponse, Answer>

    private let call: Call
    private let database: DatabaseID

    init(_ call: Call, _ database: DatabaseID) {
      self.call = call
      self.database = database
    }

    func add(_ target: WatchTarget) {
      call.send(
        .with {
          $0.database = "\(database)"
          $0.addTarget = ProtoTarget(target, in: database)
          if let label = target.purpose.label {
            $0.labels = [
              .with {
                $0.key = "goog-listen-tags"
                $0.value = label
              }
            ]
          }
        })
    }

    func remove(_ target: TargetID) {
      call.send(
        .with {
          $0.database = "\(database)"
          $0.removeTarget = target
        })
    }

    func taken() { call.grant() }

    func close() { call.close() }
  }

  /// A client's end of a stream of writes.
  final class GRPCWriteStream: WriteStream {
    typealias Call = GRPCCall<ProtoWriteRequest, ProtoWriteResponse, WriteStreamEvent>

    private let call: Call
    private let database: DatabaseID
    private let resumes: Bool

    init(_ call: Call, _ database: DatabaseID, resumes: Bool) {
      self.call = call
      self.database = database
      self.resumes = resumes
    }

    func greet(token: [UInt8]) {
      call.send(
        .with {
          $0.database = "\(database)"
          // A token belongs to the stream that it came on, which the vendor's service does not go on with.
          if resumes { $0.streamToken = token.data }
        })
    }

    func send(_ writes: [Mutation], batch: Int64?, token: [UInt8]) {
      call.send(
        .with {
          $0.writes = writes.map { ProtoWrite($0, in: database) }
          $0.streamToken = token.data
        })
    }

    func close() { call.close() }
  }
#endif
