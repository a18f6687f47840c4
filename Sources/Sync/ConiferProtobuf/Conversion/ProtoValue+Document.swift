#if GRPC
  package import ConiferDocument
  package import SwiftProtobuf

  extension ProtoValue {
    /// A value; one whose time the server has yet to say as the estimate.
    package init(_ value: DocumentValue) {
      self.init()
      switch value {
      case .null: nullValue = .nullValue
      case .boolean(let flag): booleanValue = flag
      case .integer(let number): integerValue = number
      case .double(let number): doubleValue = number
      case .timestamp(let time), .serverTimestamp(let time, _):
        timestampValue = Google_Protobuf_Timestamp(time)
      case .string(let text): stringValue = text
      case .bytes(let bytes): bytesValue = bytes.data
      case .reference(let name): referenceValue = "\(name)"
      case .geoPoint(let point):
        geoPointValue = .with {
          $0.latitude = point.latitude
          $0.longitude = point.longitude
        }
      case .array(let values): arrayValue = ProtoArrayValue(values)
      case .vector(let numbers):
        mapValue = ProtoMapValue([
          "__type__": "__vector__", "value": .array(numbers.map { .double($0) }),
        ])
      case .map(let map): mapValue = ProtoMapValue(map)
      }
    }
  }

  extension ProtoArrayValue {
    /// Values in a row.
    package init(_ values: [DocumentValue]) {
      self.init()
      self.values = values.map { ProtoValue($0) }
    }
  }

  extension ProtoMapValue {
    /// Names with values.
    package init(_ map: MapValue) {
      self.init()
      fields = map.fields.map { ProtoField($0) }
    }
  }

  extension ProtoField {
    /// A field.
    package init(_ field: MapValue.Field) {
      self.init()
      key = field.name
      value = ProtoValue(field.value)
    }
  }

  extension DocumentValue {
    /// The value of a message.
    ///
    /// - Throws: when it has no type, or one that is not known here, or is out of its range.
    package init(_ value: ProtoValue) throws(ProtoError) {
      switch value.valueType {
      case .nullValue: self = .null
      case .booleanValue(let flag): self = .boolean(flag)
      case .integerValue(let number): self = .integer(number)
      case .doubleValue(let number): self = .double(number)
      case .timestampValue(let time): self = .timestamp(try Timestamp(time))
      case .stringValue(let text): self = .string(text)
      case .bytesValue(let bytes): self = .bytes([UInt8](bytes))
      case .referenceValue(let text):
        self = .reference(try checked { () throws(DocumentError) in try DocumentName(text) })
      case .geoPointValue(let point):
        self = .geoPoint(
          try checked { () throws(DocumentError) in
            try GeoPoint(latitude: point.latitude, longitude: point.longitude)
          })
      case .arrayValue(let array): self = .array(try DocumentValue.values(array.values))
      case .mapValue(let map):
        let fields = try MapValue(map.fields)
        self = fields.vector.map { .vector($0) } ?? .map(fields)
      case nil:
        throw ProtoError("A value has no type, or one that this client does not know.")
      }
    }

    /// Values in a row.
    static func values(_ values: [ProtoValue]) throws(ProtoError) -> [DocumentValue] {
      var read: [DocumentValue] = []
      read.reserveCapacity(values.count)
      for value in values { read.append(try DocumentValue(value)) }
      return read
    }
  }

  extension MapValue {
    /// The fields of a message.
    package init(_ fields: [ProtoField]) throws(ProtoError) {
      var read: [Field] = []
      read.reserveCapacity(fields.count)
      for field in fields { read.append(Field(field.key, try DocumentValue(field.value))) }
      self.init(read)
    }

    /// The numbers of a map that stands for a vector; nil for any other map, also for one with integers, which would come
    /// back as other values.
    fileprivate var vector: [Double]? {
      guard count == 2, self["__type__"] == .string("__vector__"),
        case .array(let values) = self["value"]
      else { return nil }
      let numbers = values.compactMap { if case .double(let number) = $0 { number } else { nil } }
      return numbers.count == values.count ? numbers : nil
    }
  }

  extension Google_Protobuf_Timestamp {
    /// A moment.
    package init(_ time: Timestamp) {
      self.init(seconds: time.seconds, nanos: time.nanoseconds)
    }
  }

  extension Timestamp {
    /// The moment of a message.
    ///
    /// - Throws: when it is outside of the years 1 to 9999.
    package init(_ time: Google_Protobuf_Timestamp) throws(ProtoError) {
      self = try checked { () throws(DocumentError) in
        try Timestamp(seconds: time.seconds, nanoseconds: time.nanos)
      }
    }
  }
#endif
