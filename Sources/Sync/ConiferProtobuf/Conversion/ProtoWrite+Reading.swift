#if GRPC
  package import ConiferDocument
  package import ConiferWire
  import SwiftProtobuf

  // Writes as a server reads them, and what became of them.
  extension Mutation {
    /// A write to a document of a database.
    ///
    /// - Throws: `invalidArgument` for a write that is invalid, or is of another database.
    package init(_ write: ProtoWrite, in database: DatabaseID) throws(StatusError) {
      let mask = write.hasUpdateMask ? try FieldMask(write.updateMask) : nil
      var transforms = write.updateTransforms
      let kind = try StatusError.asInvalidArgument { () throws(ProtoError) -> WriteKind in
        switch write.operation {
        case .update(let document):
          return .update(
            try DocumentPath(name: document.name, in: database), try MapValue(document.fields))
        case .delete(let name): return .delete(try DocumentPath(name: name, in: database))
        case .verify(let name): return .verify(try DocumentPath(name: name, in: database))
        case .transform(let transform):
          transforms += transform.fieldTransforms
          return .transform(try DocumentPath(name: transform.document, in: database))
        case nil: throw ProtoError("A write is one of update, delete, verify and transform.")
        }
      }
      let read = try transforms.map { (transform) throws(StatusError) in
        try FieldTransform(transform)
      }
      guard let mutation = kind.mutation(mask, read, try Precondition(write.currentDocument)) else {
        throw StatusError(
          .invalidArgument, "An updateMask and updateTransforms belong to an update.")
      }
      self = mutation
    }
  }

  extension Precondition {
    /// What must be so.
    package init(_ condition: ProtoPrecondition) throws(StatusError) {
      switch condition.conditionType {
      case nil: self = .none
      case .exists(let exists): self = .exists(exists)
      case .updateTime(let time):
        self = .updateTime(
          try StatusError.asInvalidArgument { () throws(ProtoError) in try Timestamp(time) })
      }
    }
  }

  extension FieldTransform {
    fileprivate init(_ transform: ProtoFieldTransform) throws(StatusError) {
      self = try StatusError.asInvalidArgument { () throws(ProtoError) in
        FieldTransform(
          try checked { () throws(DocumentError) in
            try FieldPath(canonical: transform.fieldPath)
          }, try Operation(transform.transformType))
      }
    }
  }

  extension FieldTransform.Operation {
    fileprivate init(_ type: ProtoFieldTransform.OneOf_TransformType?) throws(ProtoError) {
      switch type {
      case .setToServerValue(.requestTime): self = .serverTimestamp
      case .setToServerValue:
        throw ProtoError("The only value of setToServerValue is REQUEST_TIME.")
      case .increment(let value): self = .increment(try Self.number(value))
      case .minimum(let value): self = .minimum(try Self.number(value))
      case .maximum(let value): self = .maximum(try Self.number(value))
      case .appendMissingElements(let array):
        self = .arrayUnion(try DocumentValue.values(array.values))
      case .removeAllFromArray(let array):
        self = .arrayRemove(try DocumentValue.values(array.values))
      case nil: throw ProtoError("A transform has a fieldPath and one operation.")
      }
    }

    private static func number(_ value: ProtoValue) throws(ProtoError) -> Number {
      guard let number = try DocumentValue(value).number else {
        throw ProtoError("The value of a transform is an integer or a double.")
      }
      return number
    }
  }

  extension ProtoWriteResult {
    /// What became of a write.
    package init(_ result: WriteResult) {
      self.init()
      if let time = result.updateTime { updateTime = Google_Protobuf_Timestamp(time) }
      transformResults = result.transforms.map { ProtoValue($0) }
    }
  }

  extension ProtoStatus {
    /// Why something failed.
    package init(_ error: StatusError) {
      self.init()
      code = Int32(error.code.rawValue)
      message = error.message
    }
  }
#endif
