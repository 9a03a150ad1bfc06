-- Put the rows of a new control database, in the schema `control_made`, in the place of those of SCHEMA_NAME.
-- No built-in row has a drawn id. The percent signs are doubled for the driver.
DO $$ DECLARE name text; BEGIN
SET LOCAL session_replication_role = replica;
FOR name IN SELECT relname FROM pg_class WHERE relnamespace = 'SCHEMA_NAME'::regnamespace AND relkind = 'r' LOOP
  EXECUTE format('DELETE FROM SCHEMA_NAME.%%I', name);
  IF to_regclass(format('control_made.%%I', name)) IS NOT NULL THEN
    EXECUTE format('INSERT INTO SCHEMA_NAME.%%I SELECT * FROM control_made.%%I', name, name);
  END IF;
END LOOP;
FOR name IN SELECT relname FROM pg_class WHERE relnamespace = 'SCHEMA_NAME'::regnamespace AND relkind = 'S' LOOP
  PERFORM setval(format('SCHEMA_NAME.%%I', name)::regclass, 1, false);
END LOOP;
END $$
