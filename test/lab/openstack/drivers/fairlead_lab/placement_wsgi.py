from placement.wsgi import init_application

application = init_application()
