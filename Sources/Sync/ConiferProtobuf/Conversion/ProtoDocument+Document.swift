#if GRPC
  package import ConiferDocument

  extension ProtoDocument {
    /// A document's name and fields, as a write has them.
    package init(_ path: DocumentPath, _ fields: MapValue, in database: DatabaseID) {
      self.init()
      name = "\(DocumentName(path, in: database))"
      self.fields = fields.fields.map { ProtoField($0) }
    }
  }

  extension Document {
    /// A document of a database, as a server sends it.
    ///
    /// - Throws: when its name or a value is invalid, it is of another database, or it is not told when it was changed.
    package init(
      _ document: ProtoDocument, in database: DatabaseID, readTime: Timestamp = .zero
    ) throws(ProtoError) {
      let path = try DocumentPath(name: document.name, in: database)
      // Without one it would be older than all that is known of it.
      guard document.hasUpdateTime else {
        throw ProtoError("The document \(document.name) has no time of its last change.")
      }
      let made = document.hasCreateTime ? try Timestamp(document.createTime) : nil
      self.init(
        path, .found(try MapValue(document.fields)), version: try Timestamp(document.updateTime),
        readTime: readTime, createTime: made)
    }
  }

  extension DocumentPath {
    /// The path of a document by its whole name.
    ///
    /// - Throws: when the name is none, or of another database.
    package init(name: String, in database: DatabaseID) throws(ProtoError) {
      guard name.utf8.last != UInt8(ascii: "/") else {
        throw ProtoError(
          "The name \(name.prefix(200)) has an empty id: remove the slash at its end.")
      }
      let name = try checked { () throws(DocumentError) in try DocumentName(name) }
      guard name.database == database else {
        throw ProtoError("The document \(name) is not of the database \(database).")
      }
      self = name.path
    }
  }
#endif
