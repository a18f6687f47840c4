#if GRPC
  import ConiferDocument
  import ConiferProtobuf
  import Testing

  @Suite("Messages and what they say") struct ConversionTests {
    @Test("Values of all kinds are those that they were made from")
    func values() throws {
      let vector: DocumentValue = .vector([1, 2.5])
      // It would come back as other values.
      let integers: MapValue = ["__type__": "__vector__", "value": [1, 2.5]]
      for value: DocumentValue in [
        nil, true, .integer(.min), 2.5, "a", .bytes([0, 255]), [1, ["x": [2.5]]], vector,
        .map(integers), .map(["__type__": "__vector__"]),
      ] {
        #expect(try DocumentValue(ProtoValue(value)) == value)
      }
      #expect(throws: ProtoError.self) { try DocumentValue(ProtoValue()) }
    }
  }
#endif
