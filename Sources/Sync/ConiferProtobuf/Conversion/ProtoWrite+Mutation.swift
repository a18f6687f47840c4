#if GRPC
  package import ConiferDocument
  package import ConiferWire
  package import SwiftProtobuf

  extension ProtoWrite {
    /// A write to a document of a database.
    package init(_ mutation: Mutation, in database: DatabaseID) {
      self.init()
      switch mutation.change {
      case .set(let fields, _): update = ProtoDocument(mutation.path, fields, in: database)
      case .patch(let fields, let mask, _):
        update = ProtoDocument(mutation.path, fields, in: database)
        updateMask.fieldPaths = mask.paths.map(\.canonical)
      case .delete: delete = "\(DocumentName(mutation.path, in: database))"
      case .verify: verify = "\(DocumentName(mutation.path, in: database))"
      }
      updateTransforms = mutation.transforms.map { ProtoFieldTransform($0) }
      switch mutation.precondition {
      case .none: break
      case .exists(let exists): currentDocument.exists = exists
      case .updateTime(let time): currentDocument.updateTime = Google_Protobuf_Timestamp(time)
      }
    }
  }

  extension ProtoFieldTransform {
    /// A transform of a field.
    package init(_ transform: FieldTransform) {
      self.init()
      fieldPath = transform.field.canonical
      switch transform.operation {
      case .serverTimestamp: setToServerValue = .requestTime
      case .increment(let number): increment = ProtoValue(DocumentValue(number))
      case .minimum(let number): minimum = ProtoValue(DocumentValue(number))
      case .maximum(let number): maximum = ProtoValue(DocumentValue(number))
      case .arrayUnion(let values): appendMissingElements = ProtoArrayValue(values)
      case .arrayRemove(let values): removeAllFromArray = ProtoArrayValue(values)
      }
    }
  }

  extension CommitResult {
    /// What a server made of writes.
    ///
    /// The writes were applied even if this client cannot read all of their results. Results that
    /// it cannot read are left out, so that the writes are not sent again.
    ///
    /// - Throws: when the commit's time is invalid.
    package init(
      commitTime: Google_Protobuf_Timestamp, _ results: [ProtoWriteResult]
    ) throws(ProtoError) {
      self.init(
        commitTime: try Timestamp(commitTime), results: results.map { WriteResult($0) })
    }
  }

  extension WriteResult {
    fileprivate init(_ result: ProtoWriteResult) {
      self.init(
        updateTime: result.hasUpdateTime ? try? Timestamp(result.updateTime) : nil,
        transforms: (try? DocumentValue.values(result.transformResults)) ?? [])
    }
  }
#endif
